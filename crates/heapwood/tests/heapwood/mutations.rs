//! The interpreter of the examples with one bit of a map, the barrier, or a variable of the stack taken out: of the programs that lose
//! an object by it, verify mode names the mistake in all, in a debug build.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

const SOURCE: &str = include_str!("../../examples/interpreter.rs");

/// The types of the interpreter, as they are declared.
const TYPES: [(&str, &str); 4] = [
    ("Value", "#[derive(Trace, Clone, Copy)]\nenum Value {"),
    ("Function", "#[derive(Trace)]\nstruct Function {"),
    ("Variable", "#[derive(Trace)]\nstruct Variable {"),
    ("Expression", "#[derive(Trace)]\nenum Expression {"),
];

/// What is found in the source, and what is put in its place.
type Edit = (&'static str, &'static str);

/// The barrier, and a variable of the stack.
const EDITS: [(&str, &[Edit]); 2] = [
    (
        "no barrier",
        &[("variable.value.set(m, Some(m.alloc(value)))", "put(&variable.value, m.alloc(value))")],
    ),
    (
        "the function that is left in a Box",
        &[("let function = made(m);", "let function = Box::new(made(m));")],
    ),
];

/// Behind the source: what edits use, and the maps of the types.
const APPENDIX: &str = "
#[allow(dead_code)]
fn put<T>(cell: &GcCell<Option<Gc<T>>>, value: Gc<T>) {
    // SAFETY: none; this is the mistake.
    unsafe { (std::ptr::from_ref(cell) as *mut usize).write_volatile(Gc::as_ptr(value) as usize) };
}

/// A function that has outlived its text, and refers to others by what it closes over.
#[inline(never)]
fn made(m: &Mutator) -> Gc<Function> {
    let text = \"let make = fn n -> if n < 1 then fn x -> x else let f = make (n - 1) in fn x -> f x + n in make 5\";
    match parse(m, text).and_then(|e| evaluate(m, e, None)) {
        Ok(Value::Function(function)) => function,
        _ => panic!(\"it makes a function\"),
    }
}

fn use_what_is_left(m: &Mutator) {
    let function = made(m);
    std::hint::black_box(&mut [0u8; 100_000]);
    m.collect();
    let value = GcCell::new(Some(m.alloc(Value::Number(7))));
    let scope = m.alloc(Variable { name: function.parameter, value, outer: function.scope });
    println!(\"{}\", number(evaluate(m, function.body, Some(scope)).unwrap()).unwrap());
}
";

fn edited(text: &str, edits: &[Edit]) -> String {
    edits.iter().fold(text.to_string(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    })
}

/// The interpreter with smaller programs, in a heap that reads the variable.
fn whole() -> String {
    let text = edited(
        SOURCE,
        &[
            ("Config::default().min_heap(1 << 20)", "Config::default().min_heap(1 << 20).with_env()"),
            ("in fib 22", "in fib 5"),
            ("in sum 200000 0", "in sum 20 0"),
            (
                "fn main() -> Result<(), Box<dyn std::error::Error>> {\n",
                "fn main() -> Result<(), Box<dyn std::error::Error>> {\n    if std::env::args().count() > 1 { return Ok(maps()); }\n",
            ),
            ("println!(\"collected: {}\", heap.stats().collections > 0);", "use_what_is_left(&m);"),
        ],
    );
    let mut maps = String::from("fn maps() {\n");
    for (name, _) in TYPES {
        writeln!(
            maps,
            "    println!(\"{name} {{}} {{}}\", <{name} as Trace>::MAP.mask()[0], <{name} as Trace>::MAP.is_conservative());"
        )
        .unwrap();
    }
    text + APPENDIX + &maps + "}\n"
}

/// Without the derive, and with a map of these words.
fn with_map(text: &str, (name, declared): (&str, &str), words: &[u32]) -> String {
    let derived = declared.replace("#[derive(Trace)]\n", "").replace("Trace, ", "");
    let fields: Vec<_> =
        words.iter().map(|word| format!("({}, heapwood::TypeMap::POINTER)", word * 8)).collect();
    assert_eq!(text.matches(declared).count(), 1, "{name}");
    text.replace(declared, &derived)
        + &format!(
            "// SAFETY: none; this is the mistake.\nunsafe impl Trace for {name} {{\n    const MAP: heapwood::TypeMap = heapwood::TypeMap::of_fields([{}]);\n}}\n",
            fields.join(", ")
        )
}

/// Builds programs, in a package of their own.
fn build(at: &Path, programs: &[(String, String)]) {
    let _ = std::fs::remove_dir_all(at.join("src"));
    std::fs::create_dir_all(at.join("src/bin")).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = format!(
        "[package]\nname = \"mutations\"\nedition = \"2024\"\n[workspace]\n[profile.dev]\nopt-level = 1\n[dependencies]\nheapwood = {{ path = {here:?} }}\n"
    );
    std::fs::write(at.join("Cargo.toml"), package).unwrap();
    std::fs::copy(here.join("../../Cargo.lock"), at.join("Cargo.lock")).unwrap();
    for (number, (_, text)) in programs.iter().enumerate() {
        std::fs::write(at.join(format!("src/bin/m{number}.rs")), text).unwrap();
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet"]).current_dir(at).env("CARGO_TARGET_DIR", at.join("target"));
    let built = cargo.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

fn run(at: &Path, number: usize, variable: &str, arguments: &[&str]) -> Output {
    // Where what was lost is another object now, a list may have no end.
    let mut command = Command::new("timeout");
    command.arg("10").arg(at.join(format!("target/debug/m{number}")));
    command.args(arguments).env("HEAPWOOD", variable).output().unwrap()
}

#[test]
#[ignore = "of the long suite: programs that are built"]
fn what_a_mutation_loses_is_named() {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    let whole = whole();
    let mut programs = vec![("whole".to_string(), whole.clone())];
    build(&at, &programs);
    let maps = String::from_utf8(run(&at, 0, "", &["maps"]).stdout).unwrap();
    for (line, ty) in maps.lines().zip(TYPES) {
        let mut words = line.split(' ').skip(1);
        let mask: u64 = words.next().unwrap().parse().unwrap();
        let all: Vec<u32> = (0..64).filter(|bit| mask >> bit & 1 == 1).collect();
        // A type of which any word may be a pointer has no bits to be taken out one by one.
        if words.next() == Some("true") {
            programs.push((format!("{} without a map", ty.0), with_map(&whole, ty, &[])));
            continue;
        }
        for &left_out in &all {
            let others: Vec<u32> = all.iter().copied().filter(|&word| word != left_out).collect();
            programs.push((format!("{} without word {left_out}", ty.0), with_map(&whole, ty, &others)));
        }
    }
    programs.extend(EDITS.iter().map(|(name, edits)| ((*name).to_string(), edited(&whole, edits))));
    build(&at, &programs);
    let expected = run(&at, 0, "", &[]).stdout;
    const CHECKED: [&str; 3] =
        ["verify=on,stress=on", "verify=on,stress=on,generational=always", "verify=on"];
    for variable in CHECKED {
        let right = run(&at, 0, variable, &[]);
        assert!(right.stdout == expected && right.stderr.is_empty(), "{right:?}");
    }
    let (mut lost, mut silent) = (0, Vec::new());
    for (number, (name, _)) in programs.iter().enumerate().skip(1) {
        let mut is_lost = ["stress=on", "stress=on,generational=always"].iter().any(|variable| {
            let ran = run(&at, number, variable, &[]);
            !ran.status.success() || ran.stdout != expected
        });
        let checked = CHECKED.map(|variable| run(&at, number, variable, &[]));
        // What dies may be made again where it was, so that nothing is seen of it.
        is_lost |= checked.iter().any(|ran| !ran.status.success());
        let said = checked.map(|ran| ran.stderr).concat();
        let said = String::from_utf8_lossy(&said);
        let names = ["heapwood: ", "a Gc<", "a pointer is stored that leads to "];
        let first = said.lines().find(|line| names.iter().any(|name| line.starts_with(name)));
        println!(
            "{} {name}\n    {}",
            if is_lost { "lost" } else { "kept" },
            first.unwrap_or("nothing is said")
        );
        lost += usize::from(is_lost);
        if is_lost && first.is_none() {
            silent.push(name);
        }
    }
    println!(
        "{} mutations; {lost} lose an object, {} of them are named",
        programs.len() - 1,
        lost - silent.len()
    );
    assert!(lost > 5 && silent.is_empty(), "{lost} lost, silent: {silent:#?}");
}
