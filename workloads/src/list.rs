//! All workloads, and lookup by name or variant. Invariant: a workload that threads share, or that uses arenas, has the
//! name of the plain one and a suffix.

use crate::workload::Workload;
use crate::{
    churn, conalloc, deep, finalize, frag, gcbench, graph, latency, linked_list, lox, malloc, map, mark,
    mixed, pipe, queue, rand, treap, tree1, trees, trees_arena, weak, weak_map,
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
    &treap::WORKLOAD,
    &malloc::WORKLOAD,
    &deep::WORKLOAD,
    &frag::WORKLOAD,
    &queue::WORKLOAD,
    &linked_list::WORKLOAD,
    &pipe::WORKLOAD,
    &weak::WORKLOAD,
    &finalize::WORKLOAD,
    &weak_map::WORKLOAD,
    &latency::WORKLOAD,
    &lox::WORKLOAD,
];

/// The workloads whose threads can share the work, by `--share`.
pub const SHARED: &[&Workload] = &[&trees::SHARED];

/// The workloads with a version in arenas, by `--arena`.
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

    /// The version whose threads share the work, which may be this one. `None` if there is none.
    pub fn sharing(&'static self) -> Option<&'static Workload> {
        let suffix = Some("-shared");
        match self.shared {
            Some(_) => Some(self),
            None => SHARED.iter().copied().find(|w| w.name.strip_prefix(self.name) == suffix),
        }
    }

    /// The version in arenas of this kind, Heapwood's if the name is empty. `None` if there is none.
    pub fn in_arenas(&self, kind: &str) -> Option<&'static Workload> {
        let suffix = if kind.is_empty() { "-arena".into() } else { format!("-arena-{kind}") };
        IN_ARENAS.iter().copied().find(|w| w.name.strip_prefix(self.name) == Some(&suffix))
    }
}
