//! Binary trees, as the Benchmarks Game defines them. A node is two pointers.

use crate::Report;
use heapwood_workloads::trees::{Kind, Line, MIN_DEPTH, max_depth};

/// Trees of a memory manager.
pub(crate) trait Trees {
    /// Builds a full tree bottom up, counts its nodes, and drops it.
    fn count_new(&mut self, depth: u32) -> u64;
    /// Builds a tree that stays.
    fn keep(&mut self, depth: u32);
    /// Counts its nodes.
    fn count_kept(&mut self) -> u64;
}

pub(crate) fn run(trees: &mut impl Trees, n: u64, report: Report<'_>) {
    let max = max_depth(n as u32);
    let depth = max + 1;
    report(Line { kind: Kind::Stretch, trees: 1, depth, nodes: trees.count_new(depth) }.into());
    trees.keep(max);
    for depth in (MIN_DEPTH..=max).step_by(2) {
        let count = 1 << (max - depth + MIN_DEPTH);
        let nodes = (0..count).map(|_| trees.count_new(depth)).sum();
        report(Line { kind: Kind::Short, trees: count, depth, nodes }.into());
    }
    report(Line { kind: Kind::LongLived, trees: 1, depth: max, nodes: trees.count_kept() }.into());
}
