//! Words: graphs of objects without a layout, each word of which may be a pointer, collected in full: a tree of pairs, lists of
//! pairs, in order with tagged links and shuffled, and a hash table. It asks a heap what a word costs that may be a pointer.
//! Invariant: what the walk finds afterwards is what was built.

mod list;
mod object;
mod table;
mod tree;

use crate::full_collections::{collect_in_full, far_down};
use crate::workload::{Across, Figure, Line, N, Threads, Workload};
use heapwood::{Mutator, Root};
use object::Walked;
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "words",
    about: "Trees, lists and a hash table of objects without a layout, each collected in full",
    n: N { unit: "number of objects", usual: 4_000_000, most: 1 << 31 },
    threads: Threads::ONE,
    // The shuffled list, and the table that it is made from.
    least_bytes: |n| (16 + 8 + 4) * u128::from(n),
    figures: FIGURES,
    shared: None,
    run,
};

const FIGURES: &[Figure] = &[
    figure("tree_ns", "tree, ns an object"),
    figure("tagged_list_ns", "list with tags, ns an object"),
    figure("shuffled_list_ns", "list, shuffled, ns an object"),
    figure("table_ns", "hash table, ns an object"),
];

const fn figure(name: &'static str, label: &'static str) -> Figure {
    Figure { name, label, headline: true, across: Across::Largest }
}

fn run(m: &Mutator, n: u64, report: &mut dyn FnMut(Line)) {
    let n = n as usize;
    report(measure(m, "tree", 0, || tree::build(m, n), tree::walk));
    report(measure(m, "tagged-list", 1, || list::build_tagged(m, n), list::walk_tagged));
    report(measure(m, "shuffled-list", 2, || list::build_shuffled(m, n), list::walk));
    report(measure(m, "table", 3, || table::build(m, n), table::walk));
}

/// Builds a graph, collects it, and walks it.
fn measure<T>(
    m: &Mutator,
    graph: &str,
    figure: usize,
    build: impl FnOnce() -> Root<T>,
    walk: impl FnOnce(&T) -> Walked,
) -> Line {
    let root = far_down(build);
    let (best, _) = collect_in_full(m);
    let live = m.heap().stats().live_objects as u64;
    let Walked { objects, checksum } = far_down(|| walk(&root.get(m)));
    let checksum = format!("0x{checksum:016x}");
    let check = format!("words {graph} objects {objects} checksum {checksum}");
    let fields = json!({"graph": graph, "objects": objects, "checksum": checksum, "live_objects": live});
    let mut line = Line { text: check.clone(), check, figures: Vec::new(), fields };
    line.add_figure(FIGURES[figure].name, best / objects as f64);
    line
}
