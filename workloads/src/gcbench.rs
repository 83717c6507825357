//! GCBench, the program of John Ellis and Pete Kovac as Hans Boehm changed it: a stretch tree, then a long-lived tree
//! and a long-lived array of doubles, beside which trees of depths 4 to 16 are built in two ways: top down, so that old
//! objects are written to, and bottom up, so that only new ones are. The original counts nothing. Here the last tree of
//! each kind is counted, to compare programs.

use crate::workload::{self, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "gcbench",
    about: "Ellis, Kovac and Boehm's: trees built top down and bottom up beside a long-lived tree and array",
    n: N { unit: "depth", usual: 16, most: 30 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| least_bytes(n as u32),
    figures: &[],
    shared: None,
    run: |m, n, report| run(m, n as u32, |line| report(line.into())),
};

const MIN_DEPTH: u32 = 4;
const ARRAY: usize = 500_000;

#[derive(Trace)]
struct Node {
    left: GcCell<Option<Gc<Node>>>,
    right: GcCell<Option<Gc<Node>>>,
    _i: i32,
    _j: i32,
}

const _: () = assert!(size_of::<Node>() == 24);

fn node(m: &Mutator, left: Option<Gc<Node>>, right: Option<Gc<Node>>) -> Gc<Node> {
    m.alloc(Node { left: GcCell::new(left), right: GcCell::new(right), _i: 0, _j: 0 })
}

/// Gives `at` two children, and them theirs, down to `depth`.
fn populate(m: &Mutator, depth: u32, at: Gc<Node>) {
    if depth == 0 {
        return;
    }
    let left = node(m, None, None);
    at.left.set(m, Some(left));
    let right = node(m, None, None);
    at.right.set(m, Some(right));
    populate(m, depth - 1, left);
    populate(m, depth - 1, right);
}

fn top_down(m: &Mutator, depth: u32) -> Gc<Node> {
    let root = node(m, None, None);
    populate(m, depth, root);
    root
}

fn bottom_up(m: &Mutator, depth: u32) -> Gc<Node> {
    if depth == 0 {
        return node(m, None, None);
    }
    let left = bottom_up(m, depth - 1);
    let right = bottom_up(m, depth - 1);
    node(m, Some(left), Some(right))
}

fn count(node: Gc<Node>) -> u64 {
    match (node.left.get(), node.right.get()) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The tree built first, two deeper than the others, and dropped.
    Stretch,
    /// Trees whose nodes are allocated before their children.
    TopDown,
    /// Trees whose nodes are allocated after their children.
    BottomUp,
    /// The long-lived tree and array; the bits of the array's sum.
    LongLived(u64),
}

/// A line of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which trees.
    pub kind: Kind,
    /// The number of trees.
    pub trees: u64,
    /// Their depth.
    pub depth: u32,
    /// The nodes of the last of them.
    pub nodes: u64,
}

impl From<Line> for workload::Line {
    fn from(line: Line) -> Self {
        let Line { kind, trees, depth, nodes } = line;
        let (kind, check) = match kind {
            Kind::Stretch => ("stretch", format!("stretch tree of depth {depth} nodes {nodes}")),
            Kind::TopDown => ("top down", format!("top down {trees} trees of depth {depth} nodes {nodes}")),
            Kind::BottomUp => {
                ("bottom up", format!("bottom up {trees} trees of depth {depth} nodes {nodes}"))
            }
            Kind::LongLived(sum) => (
                "long lived",
                format!("long lived tree of depth {depth} nodes {nodes} array sum 0x{sum:016x}"),
            ),
        };
        let fields = json!({"kind": kind, "trees": trees, "depth": depth, "nodes": nodes});
        workload::Line { text: check.clone(), check, figures: Vec::new(), fields }
    }
}

/// The depth that the program uses for `n`.
pub fn max_depth(n: u32) -> u32 {
    n.max(MIN_DEPTH)
}

/// The minimum of bytes alive at once: the stretch tree.
pub fn least_bytes(n: u32) -> u128 {
    (size_of::<Node>() as u128) << (max_depth(n) + 3).min(100)
}

/// Runs it for maximum depth `n`. Reports each line when it is known.
pub fn run(m: &Mutator, n: u32, mut report: impl FnMut(Line)) {
    let max = max_depth(n);
    let nodes = |depth: u32| (2u64 << depth) - 1;
    let stretch = repeated(m, 1, max + 2, bottom_up);
    report(Line { kind: Kind::Stretch, trees: 1, depth: max + 2, nodes: stretch });
    let long_lived = top_down(m, max);
    let array: Gc<Slice<f64>> =
        m.alloc_slice(ARRAY, |i| if (1..ARRAY / 2).contains(&i) { 1.0 / i as f64 } else { 0.0 });
    for depth in (MIN_DEPTH..=max).step_by(2) {
        let trees = 2 * nodes(max + 2) / nodes(depth);
        let line = |kind, nodes| Line { kind, trees, depth, nodes };
        report(line(Kind::TopDown, repeated(m, trees, depth, top_down)));
        report(line(Kind::BottomUp, repeated(m, trees, depth, bottom_up)));
    }
    let sum = array[1..ARRAY / 2].iter().fold(0.0, |sum, x| sum + x);
    let kind = Kind::LongLived(sum.to_bits());
    report(Line { kind, trees: 1, depth: max, nodes: count(long_lived) });
}

/// Builds `trees` trees and counts the last, in its own frame, so that no pointer is left on the stack.
#[inline(never)]
fn repeated(m: &Mutator, trees: u64, depth: u32, build: impl Fn(&Mutator, u32) -> Gc<Node>) -> u64 {
    for _ in 1..trees {
        build(m, depth);
    }
    count(build(m, depth))
}
