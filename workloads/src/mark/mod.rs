//! Mark: static graphs, collected in full: a balanced tree of 32-byte objects in preorder, the same tree with the objects
//! shuffled, a random graph of such objects, and singly linked lists of 16-byte nodes, 1 to 64 of them side by side, in
//! the order of their allocation and shuffled.
//!
//! | module | content |
//! |---|---|
//! | `plan` | the trees and the random graph |
//! | `lists` | the lists |
//! | `collections` | their full collections, and the order of their objects |

mod collections;
mod lists;
mod plan;

use crate::workload::{self, Across, Figure, N, Threads, Workload};
use collections::{collect_in_full, far_down, in_order, shuffled};
use heapwood::Mutator;
use plan::Plan;
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "mark",
    about: "Static graphs of small objects, trees and lists, each collected in full",
    // Indices have 32 bits, and one of them means none.
    n: N { unit: "number of objects", usual: 8_000_000, most: 1 << 31 },
    threads: Threads::ONE,
    least_bytes,
    figures: &FIGURES,
    shared: None,
    run: |m, n, report| run(m, n, |line| report(line.of(n))),
};

/// The shape of a graph.
#[derive(Clone, Copy)]
enum Shape {
    Tree(Order),
    Random,
    /// N lists share the objects.
    Lists(usize, Order),
}

/// The order of its objects in memory.
type Order = fn(usize) -> Vec<u32>;

/// A graph and its figure.
struct Graph {
    name: &'static str,
    shape: Shape,
    figure: Figure,
}

impl Graph {
    const fn new(
        name: &'static str,
        shape: Shape,
        figure: &'static str,
        label: &'static str,
        headline: bool,
    ) -> Graph {
        Graph { name, shape, figure: Figure { name: figure, label, headline, across: Across::Largest } }
    }
}

/// Every graph, in the order they are measured in.
const GRAPHS: [Graph; 13] = [
    Graph::new("in-order", Shape::Tree(in_order), "in_order_ns", "in order, ns an object", true),
    Graph::new("shuffled", Shape::Tree(shuffled), "shuffled_ns", "shuffled, ns an object", true),
    Graph::new("random", Shape::Random, "random_ns", "random, ns an object", true),
    Graph::new("lists-1", Shape::Lists(1, in_order), "lists_1_ns", "one list, ns an object", true),
    Graph::new("lists-2", Shape::Lists(2, in_order), "lists_2_ns", "2 lists, ns an object", false),
    Graph::new("lists-4", Shape::Lists(4, in_order), "lists_4_ns", "4 lists, ns an object", false),
    Graph::new("lists-8", Shape::Lists(8, in_order), "lists_8_ns", "8 lists, ns an object", true),
    Graph::new("lists-16", Shape::Lists(16, in_order), "lists_16_ns", "16 lists, ns an object", false),
    Graph::new("lists-32", Shape::Lists(32, in_order), "lists_32_ns", "32 lists, ns an object", false),
    Graph::new("lists-64", Shape::Lists(64, in_order), "lists_64_ns", "64 lists, ns an object", false),
    Graph::new(
        "shuffled-lists-1",
        Shape::Lists(1, shuffled),
        "shuffled_lists_1_ns",
        "one list, shuffled, ns an object",
        true,
    ),
    Graph::new(
        "shuffled-lists-8",
        Shape::Lists(8, shuffled),
        "shuffled_lists_8_ns",
        "8 lists, shuffled, ns an object",
        true,
    ),
    Graph::new(
        "shuffled-lists-64",
        Shape::Lists(64, shuffled),
        "shuffled_lists_64_ns",
        "64 lists, shuffled, ns an object",
        false,
    ),
];

const FIGURES: [Figure; GRAPHS.len()] = {
    let mut figures = [GRAPHS[0].figure; GRAPHS.len()];
    let mut k = 1;
    while k < GRAPHS.len() {
        figures[k] = GRAPHS[k].figure;
        k += 1;
    }
    figures
};

/// The time of full collections of one graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The graph's name.
    pub graph: &'static str,
    /// The figure for its best time.
    pub figure: &'static str,
    /// Objects reachable from the roots.
    pub reached: u64,
    /// For lists: the checksum of their words after the collections.
    pub checksum: Option<u64>,
    /// The fastest collection, per object reached.
    pub best_ns: f64,
    /// The median collection, per object reached.
    pub median_ns: f64,
    /// Bytes alive at the last collection.
    pub live_objects: u64,
}

impl Line {
    fn of(self, objects: u64) -> workload::Line {
        let Line { graph, figure, reached, checksum, best_ns, median_ns, live_objects } = self;
        let mut check = format!("mark {graph} objects {objects} reached {reached}");
        let checksum = checksum.map(|sum| format!("0x{sum:016x}"));
        if let Some(sum) = &checksum {
            check += &format!(" checksum {sum}");
        }
        workload::Line {
            text: format!("{check} best_ns_per_object {best_ns:.3} median_ns_per_object {median_ns:.3}"),
            check,
            figures: vec![(figure, best_ns)],
            fields: json!({
                "graph": graph,
                "objects": objects,
                "reached": reached,
                "checksum": checksum,
                "best_ns_per_object": best_ns,
                "median_ns_per_object": median_ns,
                "live_objects": live_objects,
            }),
        }
    }
}

/// The minimum of bytes alive at once: the objects, the table they are built from, and the plan with its order. Lists
/// take less.
pub fn least_bytes(objects: u64) -> u128 {
    objects as u128 * (32 + 8 + 8 + 4)
}

/// Builds and collects each graph with `objects` objects (at least one), reporting each when it is known.
pub fn run(m: &Mutator, objects: u64, mut report: impl FnMut(Line)) {
    let n = objects as usize;
    for graph in &GRAPHS {
        report(match graph.shape {
            Shape::Tree(order) => measure_plan(m, graph, Plan::tree(&order(n))),
            Shape::Random => measure_plan(m, graph, Plan::random(n)),
            Shape::Lists(lists, order) => measure_lists(m, graph, &order(n), lists),
        });
    }
}

fn measure_plan(m: &Mutator, graph: &Graph, plan: Plan) -> Line {
    let reached = plan.reached();
    let root = far_down(|| plan.build(m));
    let line = measure(m, graph, reached);
    drop(root);
    line
}

fn measure_lists(m: &Mutator, graph: &Graph, order: &[u32], lists: usize) -> Line {
    let heads = far_down(|| lists::build(m, order, lists));
    let line = measure(m, graph, order.len() as u64);
    let (reached, checksum) = far_down(|| lists::walk(m, &heads.get(m)));
    Line { reached, checksum: Some(checksum), ..line }
}

/// Collects a graph with `reached` reachable objects.
fn measure(m: &Mutator, graph: &Graph, reached: u64) -> Line {
    let (best, median) = collect_in_full(m);
    Line {
        graph: graph.name,
        figure: graph.figure.name,
        reached,
        checksum: None,
        best_ns: best / reached as f64,
        median_ns: median / reached as f64,
        live_objects: m.heap().stats().live_objects as u64,
    }
}
