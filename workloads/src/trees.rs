//! Binary trees, as the Benchmarks Game defines them: a stretch tree, a long-lived one, and many short-lived trees
//! of growing depth, each built bottom up and counted. A node is two pointers and nothing else.

use crate::threads::share_out;
use crate::threads_error::ThreadsError;
use crate::workload::{self, N, Threads, Workload};
use heapwood::{Gc, Mutator, Trace};
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "trees",
    about: "Binary trees, as the Benchmarks Game defines them",
    n: N { unit: "depth", usual: 21, most: 40 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| least_bytes(n as u32),
    figures: &[],
    shared: None,
    run: |m, n, report| run(m, n as u32, |line| report(line.into())),
};

/// The same on threads that share the lines of the table, as in the document on arena performance (golang/go#51667).
pub const SHARED: Workload = Workload {
    name: "trees-shared",
    about: "Binary trees, whose lines threads share",
    shared: Some(run_shared),
    ..WORKLOAD
};

/// The depth of the smallest trees.
pub const MIN_DEPTH: u32 = 4;
/// The bytes of a node as the table counts them.
pub const NODE_BYTES: u64 = 16;

#[derive(Trace)]
struct Node {
    left: Option<Gc<Node>>,
    right: Option<Gc<Node>>,
}

fn build(m: &Mutator, depth: u32) -> Gc<Node> {
    if depth == 0 {
        m.alloc(Node { left: None, right: None })
    } else {
        let left = build(m, depth - 1);
        let right = build(m, depth - 1);
        m.alloc(Node { left: Some(left), right: Some(right) })
    }
}

fn count(node: Gc<Node>) -> u64 {
    match (node.left, node.right) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

/// The subject of a line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The tree built first, one deeper than the others, and dropped.
    Stretch,
    /// Trees of one depth, dropped after counting.
    Short,
    /// The long-lived tree.
    LongLived,
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which trees.
    pub kind: Kind,
    /// The number of trees.
    pub trees: u64,
    /// Their depth.
    pub depth: u32,
    /// The nodes counted in all of them.
    pub nodes: u64,
}

impl Line {
    /// The megabytes (2^20) of the nodes.
    pub fn megabytes(&self) -> f64 {
        (self.nodes * NODE_BYTES) as f64 / (1 << 20) as f64
    }
}

impl From<Line> for workload::Line {
    fn from(line: Line) -> Self {
        let Line { kind, trees, depth, nodes } = line;
        let (count, what, check) = match kind {
            Kind::Stretch => (
                "stretch".into(),
                "tree ",
                format!("stretch tree of depth {depth} trees {trees} nodes {nodes}"),
            ),
            Kind::Short => {
                (trees.to_string(), "trees", format!("{trees} trees of depth {depth} nodes {nodes}"))
            }
            Kind::LongLived => {
                ("long-lived".into(), "tree ", format!("long lived tree of depth {depth} nodes {nodes}"))
            }
        };
        let text = format!(
            "{count:>10} {what} of depth {depth:<2}   nodes: {nodes:<10}  MB: {:.1}",
            line.megabytes()
        );
        let fields = json!({"trees": trees, "depth": depth, "nodes": nodes});
        workload::Line { text, check, figures: Vec::new(), fields }
    }
}

/// The depth that the program uses for `n`: at least two above the smallest.
pub fn max_depth(n: u32) -> u32 {
    n.max(MIN_DEPTH + 2)
}

/// The minimum of bytes alive at once: the stretch tree.
pub fn least_bytes(n: u32) -> u128 {
    (NODE_BYTES as u128) << (max_depth(n) + 2).min(100)
}

/// Runs it for maximum depth `n`. Reports each line when it is known.
pub fn run(m: &Mutator, n: u32, mut report: impl FnMut(Line)) {
    let max = max_depth(n);
    report(Line { kind: Kind::Stretch, trees: 1, depth: max + 1, nodes: stretch(m, max + 1) });
    let long_lived = build(m, max);
    short_lines(max).for_each(|line| report(fill(m, line)));
    report(Line { kind: Kind::LongLived, trees: 1, depth: max, nodes: count(long_lived) });
}

/// The lines of short-lived trees, not counted yet.
fn short_lines(max: u32) -> impl Iterator<Item = Line> {
    let depths = (MIN_DEPTH..=max).step_by(2);
    depths.map(move |depth| Line {
        kind: Kind::Short,
        trees: 1 << (max - depth + MIN_DEPTH),
        depth,
        nodes: 0,
    })
}

/// The trees of such a line.
fn fill(m: &Mutator, line: Line) -> Line {
    Line { nodes: (0..line.trees).map(|_| count(build(m, line.depth))).sum(), ..line }
}

/// The same with the short-lived trees on `threads` threads, including the calling one.
fn run_shared(
    m: &Mutator,
    threads: u32,
    n: u64,
    report: &mut dyn FnMut(workload::Line),
) -> Result<(), ThreadsError> {
    if threads == 1 {
        run(m, n as u32, |line| report(line.into()));
        return Ok(());
    }
    let max = max_depth(n as u32);
    report(Line { kind: Kind::Stretch, trees: 1, depth: max + 1, nodes: stretch(m, max + 1) }.into());
    let long_lived = build(m, max);
    let lines: Vec<Line> = short_lines(max).collect();
    let filled = share_out(m, threads, lines.len(), |m, k| fill(m, lines[k]))?;
    filled.into_iter().for_each(|line| report(line.into()));
    report(Line { kind: Kind::LongLived, trees: 1, depth: max, nodes: count(long_lived) }.into());
    Ok(())
}

/// In its own frame, so that no pointer to the tree is left on the stack.
#[inline(never)]
fn stretch(m: &Mutator, depth: u32) -> u64 {
    count(build(m, depth))
}
