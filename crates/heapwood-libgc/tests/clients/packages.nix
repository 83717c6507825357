# An evaluation of the kind and size of a subset of nixpkgs: a fixpoint of overlays with thousands of packages that name their
# dependencies as arguments, overridable; derivations with string contexts; a system of modules with options, types and priorities;
# closures. `packages` and `hosts` say how many.
{ packages ? 3000, hosts ? 12 }:
let
  inherit (builtins) attrNames attrValues concatMap concatStringsSep elem elemAt filter foldl' functionArgs genList hasAttr
    hashString head intersectAttrs isAttrs isFunction isList length listToAttrs map mapAttrs removeAttrs stringLength substring tail
    toJSON toString genericClosure getContext unsafeDiscardStringContext zipAttrsWith sort;
  mod = a: b: a - (a / b) * b;
  fix = f: let x = f x; in x;
  extends = overlay: f: final: let prev = f final; in prev // overlay final prev;
  pair = name: value: { inherit name value; };
  name = i: "pkg${toString i}";

  # callPackage: arguments by their names, from the final set.
  overridable = f: args: let result = f args; in result // {
    override = new: overridable f (args // (if isFunction new then new args else new));
    overrideAttrs = g: overridable (a: let r = f a; in r.remake (r.attrs // g r.attrs)) args;
  };
  make = attrs:
    let drv = derivation ({ system = "x86_64-linux"; builder = "/bin/sh"; args = [ "-c" "exit 0" ]; } // removeAttrs attrs [ "meta" "passthru" ]);
    in { inherit attrs; remake = make; inherit (attrs) name meta; inherit (drv) drvPath outPath type; } // attrs.passthru or { };
  licences = [ "mit" "gpl3" "bsd3" "asl20" "mpl20" ];

  # Package i depends on some before it; each is a function whose arguments are their names, as files of nixpkgs are.
  dependencies = i: if i < 3 then [ ] else map name (filter (j: j >= 0 && j < i) [ (i / 2) (i / 3) (i - 1 - mod (i * 7) 13) (mod (i * 31) i) ]);
  function = i: {
    __functor = _: args: make {
      name = "${name i}-${toString (mod i 9)}.${toString (mod i 17)}";
      inputs = map (d: "${args.${d}.outPath}") (dependencies i);
      flags = concatMap (k: [ "--with-${toString k}" "--enable=${substring 0 6 (hashString "sha256" (toString (i * k)))}" ]) (genList (k: k) 6);
      script = concatStringsSep "\n" (map (d: "export PATH=${args.${d}.outPath}/bin:$PATH") (dependencies i));
      meta = { licence = elemAt licences (mod i 5); broken = mod i 211 == 210; platforms = [ "x86_64-linux" "aarch64-linux" ]; position = i; };
      passthru = { deps = dependencies i; };
    };
    __functionArgs = listToAttrs (map (d: pair d false) (dependencies i));
  };
  callPackage = set: f: extra: overridable f (intersectAttrs (f.__functionArgs or (functionArgs f)) set // extra);
  base = final: listToAttrs (genList (i: pair (name i) (callPackage final (function i) { })) packages) // { callPackage = callPackage final; };
  overlays = [
    (final: prev: mapAttrs (n: p: p.overrideAttrs (a: { flags = a.flags ++ [ "--hardened" ]; }))
      (listToAttrs (map (n: pair n prev.${n}) (filter (n: hasAttr n prev) (genList (i: name (i * 11)) (packages / 11))))))
    (final: prev: { ${name 1} = prev.${name 1}.override { }; world = filter (p: !p.meta.broken) (map (i: final.${name i}) (genList (i: i) packages)); })
    (final: prev: listToAttrs (genList (i: pair "${name i}-static" (prev.${name i}.overrideAttrs (a: { name = a.name + "-static"; static = true; }))) (packages / 5)))
  ];
  set = fix (foldl' (f: overlay: extends overlay f) base overlays);
  closure = start: map (e: e.key) (genericClosure {
    startSet = map (key: { inherit key; }) start;
    operator = e: map (key: { inherit key; }) (set.${e.key}.deps or [ ]);
  });

  # Modules: options with types that merge, definitions with priorities, conditions, submodules.
  option = type: default: { _option = true; inherit type default; };
  override = priority: content: { _override = true; inherit priority content; };
  force = override 50;
  when = condition: content: { _if = true; inherit condition content; };
  types = {
    int = defs: head defs;
    lines = concatStringsSep "\n";
    list = concatMap (d: d);
    attrs = foldl' (a: b: a // b) { };
    submodules = options: defs: zipAttrsWith (_: parts: evalOptions options parts) defs;
  };
  strip = def: if isAttrs def && def._if or false then (if def.condition then strip def.content else [ ]) else [ def ];
  # A condition around definitions goes to each, so that names are known before it.
  push = c: if c._if or false then mapAttrs (_: content: when c.condition content) c.content else c;
  merge = opt: defs:
    let
      present = concatMap strip defs;
      weighed = map (d: if isAttrs d && d._override or false then d else { priority = 100; content = d; }) present;
      best = foldl' (a: d: if d.priority < a then d.priority else a) 1000 weighed;
      chosen = filter (d: d.priority == best) weighed;
    in if chosen == [ ] then opt.default else opt.type (map (d: d.content) chosen);
  evalOptions = options: configs: mapAttrs
    (n: o:
      let defs = concatMap (c: let s = push c; in if hasAttr n s then [ s.${n} ] else [ ]) configs;
      in if o._option or false then merge o defs else evalOptions o defs)
    options;
  union = a: b: a // mapAttrs (n: v: if hasAttr n a && isAttrs v && isAttrs a.${n} && !(v._option or false) then union a.${n} v else v) b;
  evalModules = modules: fix (config:
    let evaluated = map (m: if isFunction m then m { inherit config; pkgs = set; } else m) modules;
    in evalOptions (foldl' union { } (map (m: m.options or { }) evaluated)) (map (m: m.config or { }) evaluated));
  service = i: { config, pkgs }: {
    options.services."s${toString i}" = { enable = option types.int false; port = option types.int 0; extra = option types.lines ""; package = option types.int pkgs.${name i}; };
    options.systemd.units = option (types.submodules { text = option types.lines ""; wants = option types.list [ ]; path = option types.list [ ]; }) { };
    options.networking.ports = option types.list [ ];
    options.environment.packages = option types.list [ ];
    config = when config.services."s${toString i}".enable {
      networking.ports = [ config.services."s${toString i}".port ];
      environment.packages = [ config.services."s${toString i}".package ];
      systemd.units."s${toString i}" = {
        text = "ExecStart=${config.services."s${toString i}".package.outPath}/bin/run --port ${toString config.services."s${toString i}".port}";
        wants = map (k: "s${toString k}") (filter (k: k < i && config.services."s${toString k}".enable) [ (i / 2) (i / 3) ]);
      };
      systemd.units.default = { wants = [ "s${toString i}" ]; path = [ config.services."s${toString i}".package.outPath ]; };
    };
  };
  host = h: evalModules (genList service 150 ++ [
    { config.services = listToAttrs (genList (i: pair "s${toString i}" { enable = mod (i * h) 3 != 1; port = 1000 + i; extra = "line ${toString i}"; }) 150); }
    { config.services.s7 = { port = force (7000 + h); extra = "more"; enable = force true; }; }
  ]);
  summary = h: let config = host h; in {
    ports = config.networking.ports;
    units = mapAttrs (_: u: hashString "sha256" (unsafeDiscardStringContext (toJSON u))) config.systemd.units;
    contexts = length (attrNames (getContext config.systemd.units.default.text or "" // getContext (concatStringsSep ":" config.systemd.units.default.path)));
    packages = length config.environment.packages;
  };
in
{
  world = hashString "sha256" (unsafeDiscardStringContext (concatStringsSep "\n" (map (p: p.drvPath) set.world)));
  static = hashString "sha256" (unsafeDiscardStringContext (toJSON (map (n: set.${n}.outPath) (filter (n: stringLength n > 7 && substring (stringLength n - 7) 7 n == "-static") (attrNames (removeAttrs set [ "world" "callPackage" ]))))));
  count = length (attrNames set);
  closures = map (i: length (closure [ (name i) ])) [ (packages - 1) (packages / 2) (packages / 3) ];
  licences = mapAttrs (_: length) (foldl' (a: p: a // { ${p.meta.licence} = (a.${p.meta.licence} or [ ]) ++ [ p.name ]; }) { } set.world);
  sorted = hashString "sha256" (toJSON (sort (a: b: hashString "md5" a < hashString "md5" b) (map (p: p.name) set.world)));
  hosts = genList (h: summary (h + 1)) hosts;
}
