//! `heapwood bench vm`: its errors and help. `.ci/bench` runs it, where the C library was built.

use crate::common::*;
use heapwood_report::testing::fails;

#[test]
fn mistakes_are_named() {
    for (args, words) in [
        ("--programs tree", &["no program tree", "trees, map"][..]),
        ("--runs 0", &["1..=10000"]),
        ("--smaller 0", &["1..=1000000"]),
        ("trees", &["trees"]),
    ] {
        fails(&mut command(&format!("bench vm {args}")), 2, words);
    }
    fails(
        &mut command("bench vm --library /no/such.a"),
        1,
        &["/no/such.a", "cargo build --release -p heapwood-c"],
    );
}

#[test]
fn the_help_names_the_heaps() {
    let help = output("bench vm --help");
    for word in ["heapwood-old", "libgc", "mark-sweep", "--smaller", "examples/vm"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(output("bench --help").contains("vm"));
}
