//! Tree1, the binary trees of D's benchmarks: an early form of the Benchmarks Game's, whose nodes also
//! hold a number. A tree is checked by adding its left numbers and subtracting its right ones; numbers wrap at 32 bits.

use crate::allocator::Allocator;
pub use crate::trees::Kind;
use crate::workload::{self, N, Threads, Workload};
use heapwood::{Gc, Trace};
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "tree1",
    about: "Binary trees whose nodes hold a number (Tree1)",
    n: N { unit: "depth", usual: 18, most: 40 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| least_bytes(n as u32),
    figures: &[],
    shared: None,
    run: |m, n, report| run(m, n as u32, |line| report(line.into())),
};

const MIN_DEPTH: u32 = 4;

#[derive(Trace)]
struct Node {
    left: Option<Gc<Node>>,
    right: Option<Gc<Node>>,
    item: i32,
}

const _: () = assert!(size_of::<Node>() == 24);

fn build<A: Allocator>(a: &A, item: i32, depth: u32) -> Gc<Node> {
    if depth == 0 {
        return a.alloc(Node { left: None, right: None, item });
    }
    let left = build(a, item.wrapping_mul(2).wrapping_sub(1), depth - 1);
    let right = build(a, item.wrapping_mul(2), depth - 1);
    a.alloc(Node { left: Some(left), right: Some(right), item })
}

fn check(node: Gc<Node>) -> i32 {
    match (node.left, node.right) {
        (Some(left), Some(right)) => node.item.wrapping_add(check(left)).wrapping_sub(check(right)),
        _ => node.item,
    }
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
    /// The sum of their checks.
    pub check: i32,
}

impl From<Line> for workload::Line {
    fn from(line: Line) -> Self {
        let Line { kind, trees, depth, check: sum } = line;
        let check = match kind {
            Kind::Stretch => format!("stretch tree of depth {depth} check {sum}"),
            Kind::Short => format!("{trees} trees of depth {depth} check {sum}"),
            Kind::LongLived => format!("long lived tree of depth {depth} check {sum}"),
        };
        let fields = json!({"trees": trees, "depth": depth, "check": sum});
        workload::Line { text: check.clone(), check, figures: Vec::new(), fields }
    }
}

/// The depth that the program uses for `n`: at least two above the smallest.
pub fn max_depth(n: u32) -> u32 {
    n.max(MIN_DEPTH + 2)
}

/// The minimum of bytes alive at once: the stretch tree.
pub fn least_bytes(n: u32) -> u128 {
    (size_of::<Node>() as u128) << (max_depth(n) + 2).min(100)
}

/// Runs it for maximum depth `n`. Reports each line when it is known.
pub fn run<A: Allocator>(a: &A, n: u32, mut report: impl FnMut(Line)) {
    let max = max_depth(n);
    report(Line { kind: Kind::Stretch, trees: 1, depth: max + 1, check: build_and_check(a, 0, max + 1) });
    let long_lived = build(a, 0, max);
    for depth in (MIN_DEPTH..=max).step_by(2) {
        let pairs = 1u64 << (max - depth + MIN_DEPTH);
        let pair = |i: u64| {
            let item = i as i32;
            build_and_check(a, item, depth).wrapping_add(build_and_check(a, item.wrapping_neg(), depth))
        };
        let check = (1..=pairs).map(pair).fold(0, i32::wrapping_add);
        report(Line { kind: Kind::Short, trees: 2 * pairs, depth, check });
    }
    report(Line { kind: Kind::LongLived, trees: 1, depth: max, check: check(long_lived) });
}

/// In its own frame, so that no pointer to the tree is left on the stack.
#[inline(never)]
fn build_and_check<A: Allocator>(a: &A, item: i32, depth: u32) -> i32 {
    check(build(a, item, depth))
}
