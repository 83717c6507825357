//! All workloads, and finding one by its name or by how it differs from another. Invariant: a workload that threads share, or that
//! lies in arenas, has the name of the one that it varies, and a suffix.

use crate::workload::Workload;
use crate::{
    churn, conalloc, gcbench, graph, malloc, map, mark, mixed, rand, sort, treap, tree1, trees, trees_arena,
};

/// Every workload, in the order they are shown in.
pub const ALL: &[&Workload] = &[
    &trees::WORKLOAD,
    &gcbench::WORKLOAD,
    &churn::WORKLOAD,
    &mixed::WORKLOAD,
    &mark::WORKLOAD,
    &rand::WORKLOAD_SMALL,
    &rand::WORKLOAD_LARGE,
    &tree1::WORKLOAD,
    &conalloc::WORKLOAD,
    &graph::WORKLOAD,
    &map::WORKLOAD,
    &sort::WORKLOAD,
    &treap::WORKLOAD,
    &malloc::WORKLOAD,
];

/// Those of them whose threads can share the work, each of which does the whole of it else: called by `--share`.
pub const SHARED: &[&Workload] = &[&trees::SHARED];

/// Those of them that have a version in arenas, which are called by `--arena`.
pub const IN_ARENAS: &[&Workload] = &[
    &trees_arena::WORKLOAD,
    &trees_arena::SMALL_PAGES,
    &trees_arena::HUGE_PAGES,
    &trees_arena::EARLY_RETURN,
    &trees_arena::BUMP,
];

impl Workload {
    /// The workload of that name.
    pub fn find(name: &str) -> Option<&'static Workload> {
        ALL.iter().chain(IN_ARENAS).chain(SHARED).copied().find(|w| w.name == name)
    }

    /// The same on threads that share the work, which may be itself; `None` if each always does the whole of it.
    pub fn sharing(&'static self) -> Option<&'static Workload> {
        let suffix = Some("-shared");
        match self.shared {
            Some(_) => Some(self),
            None => SHARED.iter().copied().find(|w| w.name.strip_prefix(self.name) == suffix),
        }
    }

    /// The same in arenas, as those are called, Heapwood's if they are not; `None` if it has none.
    pub fn in_arenas(&self, kind: &str) -> Option<&'static Workload> {
        let suffix = if kind.is_empty() { "-arena".into() } else { format!("-arena-{kind}") };
        IN_ARENAS.iter().copied().find(|w| w.name.strip_prefix(self.name) == Some(&suffix))
    }
}
