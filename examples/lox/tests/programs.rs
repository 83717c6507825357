//! Every program prints the same on every door, also where the collector runs at each allocation and checks the heap; and mistakes in
//! programs are named.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const DOORS: [(&str, &str); 4] = [
    ("rc", env!("CARGO_BIN_EXE_lox-rc")),
    ("plain", env!("CARGO_BIN_EXE_lox-plain")),
    ("session", env!("CARGO_BIN_EXE_lox-session")),
    ("scanned", env!("CARGO_BIN_EXE_lox-scanned")),
];

/// Collections at every allocation, or as often as the door allows, each checked and told of.
const STRESS: [&str; 2] =
    ["stress=1,verify=1,trace=1", "stress=1,verify=1,trace=1,generational=always,concurrent=always"];
/// A part of the words that tell of one.
const COLLECTED: &str = " kind=";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The programs with the size of each, and what they print.
fn programs() -> Vec<(PathBuf, String, String)> {
    let expected = std::fs::read_dir(folder("expected")).unwrap().map(|entry| entry.unwrap().path());
    let parts = |path: PathBuf| {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        let (name, size) = stem.split_once('-').unwrap();
        let program = folder("programs").join(format!("{name}.lox"));
        (program, size.to_string(), std::fs::read_to_string(&path).unwrap())
    };
    expected.map(parts).collect()
}

fn run(machine: &str, program: &Path, size: &str, setting: &str) -> Output {
    Command::new(machine).arg(program).arg(size).env("HEAPWOOD", setting).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn all_print_what_is_expected(setting: &str) {
    let programs = programs();
    assert_eq!(programs.len(), std::fs::read_dir(folder("programs")).unwrap().count());
    for (door, machine) in DOORS {
        let mut collections = 0;
        for (program, size, expected) in &programs {
            let ran = run(machine, program, size, setting);
            assert!(ran.status.success(), "{door} {program:?} {setting:?}: {}", text(&ran.stderr));
            assert_eq!(text(&ran.stdout), *expected, "{door} {program:?} {setting:?}");
            collections += text(&ran.stderr).matches(COLLECTED).count();
        }
        assert!(
            collections > 1000 || !STRESS.contains(&setting) || door == "rc",
            "{door}: {collections} collections"
        );
    }
}

#[test]
fn programs_print_the_same_on_every_door() {
    all_print_what_is_expected("");
}

#[test]
fn programs_print_the_same_under_stress() {
    STRESS.into_iter().for_each(all_print_what_is_expected);
}

#[test]
fn mistakes_are_named_with_their_line() {
    let deep = format!("fun f(n) {{ return {}f(n + 1){}; }}\nf(0);", "[".repeat(20), "]".repeat(20));
    let nested = "(".repeat(100_000);
    let mistakes = [
        ("print 1\nprint 2;", "line 2: \";\" was expected, not \"print\""),
        ("var 1;", "line 1: a name was expected, not \"1\""),
        ("1 + 2 = 3;", "line 1: nothing can be assigned to that"),
        ("return 1;", "line 1: only a function returns a value"),
        ("class A { init() { return 1; } }", "init returns its object"),
        ("print this;", "there is no this outside of a class"),
        ("class A { f() { super.f(); } }", "there is no super"),
        ("class A < A {}", "a class cannot inherit from itself"),
        ("{ var a; var a; }", "a is declared twice"),
        ("fun f(a, a) {}", "a is declared twice"),
        ("print )", "\")\" was not expected"),
        ("{", "\"the end\" was not expected"),
        (&nested, "line 1: this is nested too deeply"),
        ("print \"a", "a text has no end"),
        ("\n\nprint a;", "line 3: the program: there is no variable a"),
        ("a = 1;", "there is no variable a"),
        ("fun f() { return 1 + nil; }\nprint f();", "line 1: f: a number and nil cannot be added"),
        ("print 1 < \"a\";", "numbers are needed, not a number and a text"),
        ("print -\"a\";", "a text cannot be negated"),
        ("nil();", "nil cannot be called"),
        ("fun f(a) {} f();", "f takes 1 arguments, not 0"),
        ("length();", "length takes 1 arguments, not 0"),
        ("length(1);", "length does not take a number"),
        ("class A {} A(1);", "a class without init takes no arguments, not 1"),
        ("class A {} A().f();", "there is no field or method f"),
        ("print (1).f;", "a number has no field f"),
        ("\"a\".f();", "a text has no method f"),
        ("nil.f = 1;", "nil has no fields"),
        ("var a = 1; class B < a {}", "a class inherits from a class, not from a number"),
        ("print [1][1];", "1 is no place among 1"),
        ("print [1][\"a\"];", "an index is a number, not a text"),
        ("print 1[1];", "a number has no elements"),
        ("print {nil: 1};", "a key is a number, a text or a boolean, not nil"),
        ("print {0 / 0: 1};", "a key is not NaN"),
        ("pop([]);", "the list is empty"),
        ("sort([1, \"a\"]);", "sort takes a list of numbers, or of texts"),
        ("slice(\"abc\", 2, 1);", "2..1 is no part of the text"),
        ("code(\"abc\", 3);", "3 is no place among 3"),
        (&deep, "line 1: f: calls are nested too deeply"),
        ("fun f() { f(); }\nf();", "calls are nested too deeply"),
    ];
    for (door, machine) in DOORS {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mistake-{door}.lox"));
        for (source, words) in &mistakes {
            std::fs::write(&file, source).unwrap();
            let ran = run(machine, &file, "1", "");
            let said = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(1), "{door}: {source}: {said}");
            assert!(said.contains(words) && said.lines().count() == 1, "{door}: {source}: {said}");
        }
    }
}

#[test]
fn a_wrong_command_line_is_named() {
    for (door, machine) in DOORS {
        for (args, code, words) in [
            (&["a.lox"][..], 2, "usage"),
            (&["a.lox", "big"], 2, "\"big\" is no size"),
            (&["/no/such.lox", "1"], 1, "/no/such.lox cannot be read"),
        ] {
            let ran = Command::new(machine).args(args).output().unwrap();
            assert_eq!(ran.status.code(), Some(code), "{door} {args:?}");
            assert!(text(&ran.stderr).contains(words), "{door} {args:?}: {}", text(&ran.stderr));
        }
    }
}
