//! The virtual machine of the examples: its programs print what they print on a collector of its own, in each mode of Heapwood, and
//! verify mode is silent. Invariant: a build in which one root, mask bit, store, frame or announcement is missing is named by verify mode
//! with stress, with a type, or the place is listed with the reason why no object can be lost there, or why it is not named.

use super::c_programs::{CRATE, Link, compile_with, program};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

const SOURCE: &str = "examples/vm/vm.c";

/// The programs, with a size for ordinary runs and one for a collection at every allocation.
const PROGRAMS: [(&str, u32, u32); 10] = [
    ("places", 10, 10),
    ("fib", 14, 8),
    ("trees", 10, 3),
    ("collect", 50, 5),
    ("buffers", 200, 10),
    ("methods", 2000, 100),
    ("fibers", 300, 30),
    ("closures", 500, 30),
    ("map", 1000, 40),
    ("strings", 1000, 120),
];

const MODES: [&str; 8] = [
    "",
    "generational=always",
    "generational=always,verify=on",
    "concurrent=always,verify=on",
    "stress=on,verify=on",
    "stress=on,verify=on,generational=always",
    "conservative_stacks=on,tagged_stacks=on,stress=on,verify=on",
    "stop=signals,conservative_stacks=on,tagged_stacks=on,stress=on,verify=on",
];

/// A collection at every allocation, young ones too, which ends at the first report.
const STRESS: &str = "stress=on,verify=on,generational=always";

fn output(vm: &Path, mode: &str, name: &str, size: u32) -> Output {
    let run = program(vm);
    let mut command = std::process::Command::new("timeout");
    command.arg("300").arg(run.get_program()).args(run.get_args()).env_remove("LD_LIBRARY_PATH");
    command.arg(format!("{CRATE}/examples/vm/{name}.vm")).arg(size.to_string());
    command.env("HEAPWOOD", mode).output().expect("timeout")
}

fn is_right(output: &Output, expected: &Output) -> bool {
    output.status.success() && output.stdout == expected.stdout && !expected.stdout.is_empty()
}

fn build(level: &str, arguments: &[&str]) -> PathBuf {
    compile_with(SOURCE, Link::Static, level, arguments)
}

/// Whether the long tests run, of many builds each: about five minutes.
fn is_long() -> bool {
    let long = std::env::var_os("HEAPWOOD_LONG").is_some();
    if !long {
        println!(
            "skipped: the machine's broken builds and slow modes, which take minutes; set HEAPWOOD_LONG"
        );
    }
    long
}

/// The machine on its own collector.
fn own() -> PathBuf {
    build("-O2", &["-DOWN_GC"])
}

#[test]
fn programs_print_the_same_in_each_mode() {
    let own = own();
    for arguments in [&[][..], &["-DTURNED"]] {
        let vm = build("-O2", arguments);
        let long = is_long();
        for mode in MODES.into_iter().filter(|mode| long || !mode.contains("stress")) {
            for (name, size, few) in PROGRAMS {
                let size = if mode.contains("stress") { few } else { size };
                let (found, expected) = (output(&vm, mode, name, size), output(&own, "", name, size));
                assert!(
                    is_right(&found, &expected),
                    "{arguments:?} {mode} {name} {size}: {found:?}\n{expected:?}"
                );
                assert!(found.stderr.is_empty(), "{mode} {name}: {}", String::from_utf8_lossy(&found.stderr));
            }
        }
        std::fs::remove_file(vm).unwrap();
    }
    std::fs::remove_file(own).unwrap();
}

/// More than a million objects, checked at each collection: nothing is reported that is none.
#[test]
fn a_million_allocations_are_unsuspected() {
    if !is_long() {
        return;
    }
    let vm = build("-O2", &[]);
    for mode in ["verify=on", "verify=on,generational=always"] {
        let found = output(&vm, mode, "trees", 16);
        assert!(found.status.success() && found.stderr.is_empty(), "{mode}: {found:?}");
        assert!(found.stdout.ends_with(b"long 131071\n"), "{mode}: {found:?}");
    }
    std::fs::remove_file(vm).unwrap();
}

/// Errors where the heap is used up, as often as one likes, and room afterwards.
#[test]
fn a_heap_that_is_used_up_is_an_error() {
    let vm = build("-O2", &[]);
    for mode in ["limit=32MiB", "limit=32MiB,generational=always"] {
        let found = output(&vm, mode, "room", 2);
        let text = String::from_utf8_lossy(&found.stdout);
        let round = "there is no room\nthere is no room\nthere is no room\ntoo many calls\n";
        assert_eq!(text, format!("{round}{round}again 10000\n"), "{mode}: {found:?}");
        assert!(found.status.success() && found.stderr.is_empty(), "{mode}: {found:?}");
    }
    std::fs::remove_file(vm).unwrap();
}

/// Places that verify mode names if they are missing: their numbers, a program that comes there, and words of the report. (A type whose
/// mask is that of another without the bit has the other's name.)
const NAMED: [(u32, &str, &str); 76] = [
    (1, "places", "it was the Native"),
    (2, "places", "it was the Class"),
    (3, "places", "it was the "),
    (12, "places", "word 1 of the List or Native"),
    (14, "places", "word 1 of the Map"),
    (16, "places", "word 1 of the Function"),
    (17, "places", "word 2 of the Function"),
    (18, "places", "word 3 of the Function"),
    (20, "places", "word 1 of the Closure or Instance"),
    (21, "places", "word 2 of the Closure"),
    (23, "places", "word 2 of the Upvalue"),
    (24, "places", "word 3 of the Upvalue or Class"),
    (25, "closures", "it was the "),
    (27, "places", "word 1 of the Class"),
    (28, "places", "word 2 of the Map or Class"),
    (29, "places", "word 0 of the Instance"),
    (30, "trees", "it was the "),
    (32, "places", "word 1 of the Fiber"),
    (33, "places", "word 2 of the Fiber"),
    (34, "places", "word 3 of the Fiber"),
    (35, "places", "word 4 of the Fiber"),
    (36, "places", "it was the "),
    (39, "places", "it was the "),
    (40, "places", "of the Values at"),
    (50, "places", "word 1 of the List"),
    (51, "places", "of the Values at"),
    (52, "places", "of the Values at"),
    (53, "places", "of the Values at"),
    (54, "closures", "of the Values at"),
    (55, "places", "word 1 of the Map"),
    (56, "places", "of the Values at"),
    (57, "places", "of the Values at"),
    (58, "places", "of the Values at"),
    (59, "places", "of the Values at"),
    (60, "places", "it was the String"),
    (61, "places", "word 2 of the Class"),
    (62, "places", "it was the Native"),
    (63, "places", "of the Values at"),
    (64, "places", "word 2 of the Fiber"),
    (66, "fib", "of the Values at"),
    (67, "closures", "word 2 of the Upvalue"),
    (68, "fib", "word 1 of the Fiber"),
    (69, "places", "it was the "),
    (70, "places", "word 1 of the Fiber"),
    (71, "places", "of the Values at"),
    (72, "places", "word 3 of the Upvalue"),
    (73, "places", "word 3 of the Fiber"),
    (74, "places", "word 1 of the Upvalue"),
    (75, "places", "word 2 of the Upvalue"),
    (76, "places", "word 3 of the Fiber"),
    (77, "places", "word 3 of the Upvalue"),
    (78, "places", "word 1 of the Fiber"),
    (79, "places", "word 2 of the Fiber"),
    (80, "places", "it was the "),
    (81, "places", "it was the String"),
    (82, "places", "of the Function at"),
    (83, "places", "it was the String"),
    (85, "places", "word 1 of the Function"),
    (86, "places", "word 2 of the Function"),
    (87, "strings", "it was the "),
    (88, "map", "it was the "),
    (89, "places", "word 4 of the Fiber"),
    (90, "places", "word 4 of the Fiber"),
    (91, "places", "of the Values at"),
    (92, "places", "word 0 of the Class"),
    (93, "places", "word 1 of the Class"),
    (94, "closures", "word 1 of the Upvalue"),
    (95, "places", "of the Values at"),
    (96, "places", "word 2 of the Instance"),
    (97, "places", "word 2 of the Closure"),
    (102, "places", "of the Values at"),
    (103, "places", "word 5 of the Fiber"),
    (104, "places", "word 4 of the Fiber"),
    (105, "places", "it was the "),
    (107, "methods", "it was the "),
    (106, "places", "of the Closure at"),
];

/// Places where no object is lost, and why. All programs print the same without them.
const CANNOT: [(u32, &str); 14] = [
    (10, "classes of what is built in are roots"),
    (11, "classes of what is built in are roots"),
    (13, "classes of what is built in are roots"),
    (15, "classes of what is built in are roots"),
    (19, "classes of what is built in are roots"),
    (22, "classes of what is built in are roots"),
    (26, "classes of what is built in are roots"),
    (31, "classes of what is built in are roots"),
    (37, "classes of what is built in are roots"),
    (38, "classes of what is built in are roots"),
    (84, "the object was just made: nothing has been allocated since"),
    (98, "the object was just made: nothing has been allocated since"),
    (99, "the object was just made: nothing has been allocated since"),
    (101, "the fiber has ended: other stores into the same object follow"),
];

/// Places that lose objects, and that verify mode does not name, and why.
const UNNAMED: [(u32, &str); 1] = [(
    108,
    "a top that is too low: a collection sets the word to 0, which is used as an address and tells nothing",
)];

/// The numbers in the sources, each once or, where a frame begins and ends, twice.
fn places() -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for file in ["vm.c", "heap.h"] {
        let text = std::fs::read_to_string(format!("{CRATE}/examples/vm/{file}")).unwrap();
        for what in
            ["PLANT(", "BIT(", "OBJECT(", "STORE(", "LINK(", "INSIDE(", "COPY(", "DIRTY(", "FRAME(", "VISIT("]
        {
            for (at, _) in text.match_indices(what) {
                let digits: String =
                    text[at + what.len()..].chars().take_while(char::is_ascii_digit).collect();
                found.extend(digits.parse::<u32>());
            }
        }
    }
    found
}

fn planted(number: u32) -> PathBuf {
    build("-O1", &[&format!("-DPLANTED={number}")])
}

#[test]
fn each_place_is_in_one_table() {
    let named = NAMED.iter().map(|(number, ..)| *number);
    let tables: Vec<u32> = named
        .chain(CANNOT.iter().map(|(number, _)| *number))
        .chain(UNNAMED.iter().map(|(number, _)| *number))
        .collect();
    assert_eq!(tables.len(), tables.iter().collect::<BTreeSet<_>>().len(), "a number is in a table twice");
    assert_eq!(tables.into_iter().collect::<BTreeSet<_>>(), places());
}

#[test]
fn each_broken_place_is_named() {
    if !is_long() {
        return;
    }
    let mut silent = Vec::new();
    for (number, name, words) in NAMED {
        let vm = planted(number);
        let size = PROGRAMS.iter().find(|program| program.0 == name).unwrap().2;
        let found = output(&vm, &format!("{STRESS},verify_stops=on"), name, size);
        let text = String::from_utf8_lossy(&found.stderr);
        if !text.contains("heapwood: ") || !text.contains(words) {
            silent.push(format!("{number} in {name}: {found:?}"));
        }
        std::fs::remove_file(vm).unwrap();
    }
    assert!(silent.is_empty(), "{silent:#?}");
}

/// If verify mode learns to name one it belongs into the other table.
#[test]
fn the_unnamed_are_not_silent_otherwise() {
    if !is_long() {
        return;
    }
    let own = own();
    for (number, why) in UNNAMED {
        let vm = planted(number);
        let (found, expected) = (output(&vm, STRESS, "places", 10), output(&own, "", "places", 10));
        assert!(!is_right(&found, &expected) && found.stderr.is_empty(), "{number} ({why}): {found:?}");
        std::fs::remove_file(vm).unwrap();
    }
    std::fs::remove_file(own).unwrap();
}

#[test]
fn where_nothing_is_lost_the_output_is_right() {
    if !is_long() {
        return;
    }
    let own = own();
    for (number, why) in CANNOT {
        let vm = planted(number);
        for (name, _, size) in PROGRAMS {
            let found = output(&vm, STRESS, name, size);
            let expected = output(&own, "", name, size);
            assert!(is_right(&found, &expected), "{number} ({why}) in {name}: {found:?}\n{expected:?}");
        }
        std::fs::remove_file(vm).unwrap();
    }
    std::fs::remove_file(own).unwrap();
}
