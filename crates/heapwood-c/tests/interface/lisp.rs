//! The Lisp of the examples, where memory and descriptors are few: symbols that nobody uses go, ports are closed when they are
//! forgotten, and a heap that is used up is an error after which the next expression is evaluated.

use super::c_programs::{CRATE, Link, OUT, compile, program};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, id};
use std::sync::atomic::{AtomicUsize, Ordering};

const SOURCE: &str = "examples/lisp.c";
const LIMIT: &str = "8388608";
/// Descriptors that the process may have.
const FEW: usize = 40;

/// A text as a file of the directory for temporary files.
fn file(name: &str, text: &str) -> PathBuf {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(OUT).join(format!("{}-{number}-{name}", id()));
    std::fs::write(&path, text).unwrap();
    path
}

/// What the Lisp prints for a program, with few descriptors and this variable.
fn output(lisp: &Path, arguments: &[&str], variable: &str, text: &str) -> Output {
    let source = file("program.lisp", text);
    let run = program(lisp);
    let mut command = Command::new("sh");
    let seconds = if std::env::var_os("HEAPWOOD_LONG").is_some() { 6000 } else { 300 };
    command.args(["-c", &format!("ulimit -n {FEW} && exec timeout {seconds} \"$@\""), "sh"]);
    command.arg(run.get_program()).args(run.get_args());
    command.args(arguments).args(["--limit", LIMIT]).arg(&source);
    let output = command.env("HEAPWOOD", variable).env_remove("LD_LIBRARY_PATH").output().expect("sh");
    std::fs::remove_file(source).unwrap();
    output
}

/// Its lines, without the figures of errors.
fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}\n{text}");
    text.lines().map(|line| line.split(" bytes: ").next().unwrap().replace("for 32", "for 16")).collect()
}

fn example() -> String {
    std::fs::read_to_string(format!("{CRATE}/examples/forget.lisp")).unwrap()
}

const FORGOTTEN: [&str; 22] = [
    "times",
    "name17",
    "done",
    "()",
    "t",
    "done",
    "seventeen",
    "null",
    "done",
    "done",
    "()",
    "()",
    "make",
    "small",
    "error: no room for 16",
    "error: no room for 16",
    "(1 2 3 4 5 6 7 8 9 10)",
    "grown",
    "grow",
    "error: no room for 16",
    "error: no room for 16",
    "()",
];

/// The example's last line tells that there is room again.
fn is_as_expected(lines: &[String]) -> bool {
    lines.len() == FORGOTTEN.len() + 1
        && lines[..FORGOTTEN.len()] == FORGOTTEN
        && lines[FORGOTTEN.len()] == "1"
}

#[test]
fn what_is_forgotten_goes() {
    let lisp = compile(SOURCE, Link::Static, "-O2");
    for (arguments, variable) in
        [(&[][..], ""), (&["--verify"], ""), (&[], "generational=always"), (&[], "concurrent=on")]
    {
        let lines = lines(&output(&lisp, arguments, variable, &example()));
        assert!(is_as_expected(&lines), "{arguments:?} {variable}: {lines:#?}");
    }
    std::fs::remove_file(lisp).unwrap();
}

/// A collection at every allocation, so each object that is only weakly held at the wrong moment dies.
#[test]
fn symbols_and_ports_survive_stress() {
    let text = "(define f (lambda (n) (symbol 'a n)))
        (f 1)
        (= (f 1) 'a1)
        (define a2 'two)
        a2
        (define p (open '/dev/null))
        (read p)
        (open '/dev/null)
        (write (create '/dev/null) '(a b))
        (close p)
        (read p)
        (list 'a1 (f 2) a2)\n";
    let lisp = compile(SOURCE, Link::Static, "-O2");
    for variable in ["stress=on,verify=on", "stress=on,generational=always,verify=on"] {
        let found = lines(&output(&lisp, &[], variable, text));
        let expected =
            ["f", "a1", "t", "a2", "two", "p", "()", "#<port>", "()", "()", "error: the port was closed"];
        assert_eq!(found[..11], expected, "{variable}");
        assert_eq!(found[11..], ["(a1 a2 two)"], "{variable}");
    }
    std::fs::remove_file(lisp).unwrap();
}

/// What a port that was forgotten, or is still there at the end, has in its buffer is in its file.
#[test]
fn ports_are_flushed() {
    let [forgotten, left] = ["forgotten", "left"].map(|name| format!("/tmp/{}-{name}", id()));
    let text = format!(
        "(define p (create '{forgotten}))
        (write p '(1 (two) 3))
        (define p (create '{left}))
        (write p 'four)
        (write p '(5 . 6))"
    );
    let lisp = compile(SOURCE, Link::Static, "-O2");
    lines(&output(&lisp, &["--verify"], "", &text));
    assert_eq!(std::fs::read_to_string(&forgotten).unwrap(), "(1 (two) 3)\n");
    assert_eq!(std::fs::read_to_string(&left).unwrap(), "four\n(5 . 6)\n");
    for path in [&forgotten, &left] {
        std::fs::remove_file(path).unwrap();
    }
    std::fs::remove_file(lisp).unwrap();
}

/// As often as one likes: a definition that has no room, and the next line.
#[test]
fn the_lisp_survives_exhaustion() {
    let rounds = if std::env::var_os("HEAPWOOD_LONG").is_some() { 1000 } else { 50 };
    let mut text =
        String::from("(define make (lambda (n list) (if (< 0 n) (make (- n 1) (cons n list)) list)))\n");
    for round in 0..rounds {
        writeln!(text, "(define x (make 1000000 '()))\n(+ {round} 1)\n(first (make 1000 '()))").unwrap();
    }
    let lisp = compile(SOURCE, Link::Static, "-O2");
    let found = lines(&output(&lisp, &[], "", &text));
    assert_eq!(found.len(), 1 + 3 * rounds);
    for (round, lines) in found[1..].chunks(3).enumerate() {
        let next = (round + 1).to_string();
        assert_eq!(lines, ["error: no room for 16", next.as_str(), "1"], "in round {round}");
    }
    std::fs::remove_file(lisp).unwrap();
}
