//! `heapwood bench rust`: its errors and help. `.ci/bench` runs it, which takes a build.

use crate::common::*;
use heapwood_report::testing::fails;

#[test]
fn mistakes_are_named() {
    for (args, words) in [
        ("--programs tree", &["no program tree", "trees, tables, lox-fib"][..]),
        ("--runs 0", &["1..=10000"]),
        ("--smaller 0", &["1..=1000000"]),
        ("trees", &["trees"]),
    ] {
        fails(&mut command(&format!("bench rust {args}")), 2, words);
    }
}

#[test]
fn a_missing_cargo_is_named() {
    let mut without = command("bench rust --runs 1");
    fails(
        without.env("PATH", folder("no-cargo")),
        1,
        &["examples could not be built", "cargo is not on PATH"],
    );
}

#[test]
fn the_help_names_the_ways() {
    let help = output("bench rust --help");
    for word in ["plain heap", "Rc", "gc-arena, dumpster and boa_gc", "crates.io", "examples/lox", "--json"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(output("bench --help").contains("rust"));
}
