//! The Lisp of the examples and the trees with frames, each with one root, barrier, bit of a mask or frame taken out: of the programs that
//! lose an object by it, verify mode names the mistake in all.

use super::c_programs::{CRATE, Link, OUT, compile_with, program};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Output, id};

/// A program that is complete, and what is run.
struct Subject {
    source: &'static str,
    arguments: &'static [&'static str],
    /// What is to be found in the source, and what is put in its place: everywhere in turn.
    mutations: &'static [(&'static str, &'static str)],
}

/// Before the source: what mutations use, and the variable for a program that does not read it.
const PRELUDE: &str = "#define _GNU_SOURCE
#include <heapwood.h>
static inline void options_of_test(hw_options *options) { hw_options_init(options), hw_options_env(options, NULL); }
#define hw_options_init(options) options_of_test(options)
#define PLAIN(m, object, slot, value) (*(slot) = (value))
#define NO_FRAME(m, frame, slots, count) hw_frame_push(m, frame, slots, 0 * (count))
";

const MASKS_AND_BARRIERS: [(&str, &str); 2] =
    [("HW_POINTER(struct", "0 * HW_POINTER(struct"), (" hw_write(", " PLAIN(")];

const LISP: Subject = Subject {
    source: "examples/lisp.c",
    arguments: &[],
    mutations: &[
        MASKS_AND_BARRIERS[0],
        MASKS_AND_BARRIERS[1],
        // One of the three slots after the other.
        (
            "hw_root_slots(heap, &kept, sizeof kept / sizeof(void *), &why) == 0",
            "hw_root_slots(heap, &kept.symbols, 2, &why) == 0",
        ),
        (
            "hw_root_slots(heap, &kept, sizeof kept / sizeof(void *), &why) == 0",
            "hw_root_slots(heap, &kept, 1, &why) == 0 || hw_root_slots(heap, &kept.reserve, 1, &why) == 0",
        ),
        (
            "hw_root_slots(heap, &kept, sizeof kept / sizeof(void *), &why) == 0",
            "hw_root_slots(heap, &kept, 2, &why) == 0",
        ),
        (
            "hw_options_env(&options, NULL);",
            "hw_options_env(&options, NULL), options.conservative_stacks = 0;",
        ),
    ],
};

const TREES: Subject = Subject {
    source: "tests/c/trees.c",
    arguments: &["6", "precise"],
    mutations: &[
        MASKS_AND_BARRIERS[0],
        ("hw_frame_push(", "NO_FRAME("),
        ("hw_frame_push(m, &frame, child, 2)", "hw_frame_push(m, &frame, child, 1)"),
    ],
};

const PROGRAM: &str = "(define not (lambda (x) (if x '() t)))
(define count (lambda (n list) (if (< 0 n) (count (- n 1) (cons n list)) list)))
(count 20 '())
(define counter (lambda (n) (lambda () (set! n (+ n 1)))))
(define next (counter 0))
(next) (next) (next)
(define ring (list 1 2 3))
(set-rest! (rest (rest ring)) ring)
(define turn (lambda (n at) (if (< 0 n) (begin (set-first! at (list n n n)) (turn (- n 1) (rest at))) (first at))))
(turn 30 ring)
(first (rest ring))
(define grown '())
(define grow (lambda (n) (if (< 0 n) (begin (set! grown (cons n grown)) (grow (- n 1))) grown)))
(grow 20)
grown
(symbol 'a 1)
(symbol 'a 1)
(define later 'first)
(define later (list 'second 'third))
later
(first later)
(grow 5)
(next)
";

/// A source with the Nth place of a mutation changed; none if there are no so many.
fn mutated(text: &str, (from, to): (&str, &str), nth: usize) -> Option<String> {
    let (at, _) = text.match_indices(from).nth(nth)?;
    Some(format!("{PRELUDE}#line 1\n{}{to}{}", &text[..at], &text[at + from.len()..]))
}

/// The line of that place.
fn line_of(text: &str, from: &str, nth: usize) -> usize {
    text[..text.match_indices(from).nth(nth).unwrap().0].lines().count()
}

/// Builds a source that is in no file yet.
fn built(name: &str, text: &str) -> PathBuf {
    let source = Path::new(OUT).join(format!("mutation-{}-{name}.c", id()));
    std::fs::write(&source, text).unwrap();
    let more = ["-DHW_CHECKED", "-Wno-unused-value", "-Wno-unused-variable", "-Wno-unused-but-set-variable"];
    let built = compile_with(source.to_str().unwrap(), Link::Static, "-O1", &more);
    std::fs::remove_file(source).unwrap();
    built
}

fn run(built: &Path, subject: &Subject, program_text: &Path, variable: &str) -> Output {
    let mut command = program(built);
    command.args(subject.arguments).env("HEAPWOOD", variable);
    if subject.source.ends_with("lisp.c") {
        command.arg(program_text);
    }
    command.output().unwrap()
}

const STRESS: [&str; 2] = ["stress=on", "stress=on,generational=always"];
const CHECKED: [&str; 3] = ["verify=on", "verify=on,stress=on", "verify=on,stress=on,generational=always"];

#[test]
#[ignore = "of the long suite: a minute of programs that are built and run"]
fn what_a_mutation_loses_is_named() {
    let program_text = Path::new(OUT).join(format!("mutation-{}.lisp", id()));
    std::fs::write(&program_text, PROGRAM).unwrap();
    let (mut lost, mut named, mut all, mut silent) = (0, 0, 0, Vec::new());
    for subject in [LISP, TREES] {
        let text = std::fs::read_to_string(Path::new(CRATE).join(subject.source)).unwrap();
        let whole = built("whole", &format!("{PRELUDE}#line 1\n{text}"));
        let expected = run(&whole, &subject, &program_text, "").stdout;
        for variable in &CHECKED[1..] {
            let right = run(&whole, &subject, &program_text, variable);
            assert!(
                right.status.success() && right.stdout == expected && right.stderr.is_empty(),
                "{right:?}"
            );
        }
        std::fs::remove_file(whole).unwrap();
        for &(from, to) in subject.mutations {
            for nth in 0.. {
                let Some(mutant) = mutated(&text, (from, to), nth) else { break };
                let name = format!("{}:{}: {to}", subject.source, line_of(&text, from, nth));
                let mutant = built(&all.to_string(), &mutant);
                let goes_wrong = |variable: &&str| {
                    let ran = run(&mutant, &subject, &program_text, variable);
                    !ran.status.success() || ran.stdout != expected
                };
                let mut is_lost = STRESS.iter().any(goes_wrong);
                let checked = CHECKED.map(|variable| run(&mutant, &subject, &program_text, variable));
                // What dies may be made again where it was, so that nothing is seen of it.
                is_lost |= checked.iter().any(|ran| ran.status.signal().is_some());
                let said = checked.map(|ran| ran.stderr).concat();
                let said = String::from_utf8_lossy(&said);
                let first = said.lines().find(|line| line.starts_with("heapwood: "));
                println!(
                    "{} {name}\n    {}",
                    if is_lost { "lost" } else { "kept" },
                    first.unwrap_or("nothing is said")
                );
                all += 1;
                lost += usize::from(is_lost);
                named += usize::from(first.is_some());
                if is_lost && first.is_none() {
                    silent.push(name);
                }
                std::fs::remove_file(mutant).unwrap();
            }
        }
    }
    std::fs::remove_file(program_text).unwrap();
    println!(
        "{all} mutations; {lost} lose an object, {} of them are named; {named} are named in all",
        lost - silent.len()
    );
    assert!(lost > 10 && silent.is_empty(), "{lost} lost, silent: {silent:#?}");
}
