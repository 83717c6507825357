//! Barriers in the built library: the functions that order stores before they publish memory (aarch64's `dmb ishst`), the
//! functions that order loads, and that no others do. On x86-64 none of these is an instruction. heapwood-heap's
//! `publication.rs` explains publication. Invariant: every allocation path is in the list, with a barrier in one of the
//! functions that the compiler may make of it.

use crate::compiler;
use crate::say;
use std::collections::BTreeMap;

/// For each path the functions, one of them with the barrier.
const ORDER_STORES: &[(&str, &[&str])] = &[
    (
        "runs of cells, freed cells and cells of shared spans",
        &[
            "refill_from_own",
            "refill_from_shared_span",
            "refill_chain",
            "refill",
            "reserve_slow",
            "reuse",
            "reuse_lately_freed",
            "continue_run",
            "next_run",
        ],
    ),
    ("large objects", &["finish", "allocate_large"]),
    ("a chunk of an arena", &["continue_in_chunk", "take_next_chunk", "take_least_chunk"]),
    ("more room in a chunk", &["extends_run", "reserve_in_arena"]),
    ("pointers that are copied", &["copy", "hw_copy"]),
    ("values of several words", &["write_words_inside"]),
];

/// Where the heap looks up a pointer that a program may have loaded plainly.
const ORDER_LOADS: &[(&str, &[&str])] = &[
    ("stores into old objects", &["before_store"]),
    ("values of several words", &["write_words_inside"]),
    ("stores that initialise", &["before_init"]),
    ("explicit frees", &["free", "hw_free"]),
    ("lookups", &["find_known", "find_info", "find", "hw_base"]),
];

/// The instructions that order stores, or loads, on aarch64; and on x86-64.
const STORES: &str = "dmb\tishst";
const LOADS: &str = "dmb\tishld";
const FENCES: [&str; 3] = ["mfence", "sfence", "lfence"];

/// The code of each function of the library, by the last part of its name; those of one name follow each other.
fn functions(disassembly: &str) -> BTreeMap<String, String> {
    let mut functions: BTreeMap<String, String> = BTreeMap::new();
    let mut name = None;
    for line in disassembly.lines() {
        if let Some((_, symbol)) = line.strip_suffix(">:").and_then(|head| head.split_once(" <")) {
            name = Some(last_name(symbol));
        } else if let Some(name) = &name {
            let code = functions.entry(name.clone()).or_default();
            code.push_str(line);
            code.push('\n');
        }
    }
    functions
}

/// `refill` of `<impl heapwood_heap::Owner>::refill`, whatever the closure.
fn last_name(symbol: &str) -> String {
    let symbol = symbol.split("::{{").next().unwrap_or(symbol);
    let end = symbol.rsplit("::").find(|part| !part.starts_with('h') || part.len() != 17);
    end.unwrap_or(symbol).to_owned()
}

fn has_any(functions: &BTreeMap<String, String>, names: &[&str], instruction: &str) -> bool {
    names.iter().any(|&name| functions.get(name).is_some_and(|code| code.contains(instruction)))
}

fn library(target: &str) -> Option<BTreeMap<String, String>> {
    match compiler::library(target) {
        Ok(disassembly) => {
            let functions = functions(&disassembly);
            assert!(functions.contains_key("hw_alloc_slow"), "no function of the library is known");
            Some(functions)
        }
        Err(missing) => {
            say(&format!("SKIPPED: the barriers for {target}: {missing}"));
            None
        }
    }
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn aarch64_has_barriers_where_objects_are_published() {
    let Some(functions) = library("aarch64-unknown-linux-gnu") else { return };
    for (instruction, paths) in [(STORES, ORDER_STORES), (LOADS, ORDER_LOADS)] {
        for (path, names) in paths {
            assert!(has_any(&functions, names, instruction), "{path}: no {instruction} in any of {names:?}");
        }
    }
    let known: Vec<&str> = ORDER_STORES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    for (name, code) in &functions {
        let is_known = known.contains(&name.as_str());
        assert!(is_known || !code.contains(STORES), "{name} orders stores: why is it not in the list?");
    }
    // The store itself, to an object that other threads know.
    assert!(has_any(&functions, &["hw_write_slow"], "stlr\t"), "hw_write_slow stores without an order");
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn x86_64_has_no_barriers() {
    let Some(functions) = library("x86_64-unknown-linux-gnu") else { return };
    for (path, names) in ORDER_STORES.iter().chain(ORDER_LOADS) {
        assert!(names.iter().any(|&name| functions.contains_key(name)), "{path}: {names:?} are gone");
        for fence in FENCES {
            assert!(!has_any(&functions, names, fence), "{path}: one of {names:?} has {fence}");
        }
    }
}
