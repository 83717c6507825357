//! What a marker marks. Invariant: an object outside the scope is not marked.

use crate::inject::{Fault, FaultInjector};
use heapwood_heap::{Collection, MarkSide};

/// What a marker marks.
pub(in crate::mark) trait Scope {
    /// The collection whose side of the mark bits takes the marks.
    const KIND: Collection;
    /// Only what existed when a concurrent marking took its snapshot. Such a marking leaves nothing undone but objects' edges.
    const SNAPSHOT: bool = false;

    /// An object was not marked, and now is.
    #[inline(always)]
    fn marked(&self, _: usize) {}
}

/// Everything that can be reached.
pub(in crate::mark) struct Full;

impl Scope for Full {
    const KIND: Collection = Collection::Full;
}

/// What was made since the last collection.
pub(in crate::mark) struct Young;

impl Scope for Young {
    const KIND: Collection = Collection::Young;
}

/// The same while a concurrent marking is active: survivors are marked for both.
pub(in crate::mark) struct YoungInSnapshot<'h> {
    full: MarkSide,
    faults: &'h FaultInjector,
}

impl<'h> YoungInSnapshot<'h> {
    /// `full` takes the marks of the concurrent marking.
    pub(in crate::mark) fn new(full: MarkSide, faults: &'h FaultInjector) -> Self {
        YoungInSnapshot { full, faults }
    }
}

impl Scope for YoungInSnapshot<'_> {
    const KIND: Collection = Collection::Young;

    fn marked(&self, object: usize) {
        if !self.faults.fails(Fault::SurvivorUnmarked) {
            // SAFETY: the object was marked just now, and mutators are stopped.
            unsafe { self.full.set(object) };
        }
    }
}

/// What existed when a concurrent marking began, and could be reached then.
pub(in crate::mark) struct Snapshot;

impl Scope for Snapshot {
    const KIND: Collection = Collection::Full;
    const SNAPSHOT: bool = true;
}
