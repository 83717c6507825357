# Lists, attribute sets, strings, recursion: an expression of some hundred megabytes.
let
  range = n: builtins.genList (x: x) n;
  fib = n: if n < 2 then n else fib (n - 1) + fib (n - 2);
  set = n: builtins.listToAttrs (map (i: { name = "a${toString i}"; value = { inherit i; double = i * 2; text = "x${toString (i * i)}"; }; }) (range n));
  merged = builtins.foldl' (a: b: a // b) { } (map (k: set (200 + k)) (range 100));
  sorted = builtins.sort (a: b: a < b) (map (x: (x * 7919) - (x * 7919 / 10007) * 10007) (range 20000));
in {
  fib = fib 22;
  names = builtins.length (builtins.attrNames merged);
  last = merged.a298.text;
  first = builtins.elemAt sorted 100;
  joined = builtins.stringLength (builtins.concatStringsSep "," (map toString sorted));
  hash = builtins.hashString "sha256" (builtins.toJSON merged);
}
