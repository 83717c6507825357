//! The scope of a marking: which objects it marks. Invariant: an object outside the scope is not marked.

use crate::inject::{Fault, FaultInjector};
use heapwood_heap::{Collection, MarkSide};

/// Which objects a marking marks.
pub(in crate::mark) trait Scope {
    /// The collection whose side of the mark bits takes the marks.
    const KIND: Collection;
    /// Only objects that existed when a concurrent marking took its snapshot. Such a marking defers nothing but the
    /// edges of objects.
    const SNAPSHOT: bool = false;

    /// Called for each object that this marking marks, once it is marked.
    #[inline(always)]
    fn marked(&self, _: usize) {}
}

/// Every object that can be reached.
pub(in crate::mark) struct Full;

impl Scope for Full {
    const KIND: Collection = Collection::Full;
}

/// Objects allocated since the last collection.
#[derive(Clone, Copy)]
pub(in crate::mark) struct Young;

impl Scope for Young {
    const KIND: Collection = Collection::Young;
}

/// Young objects while a concurrent marking is active: each survivor is marked for both markings.
#[derive(Clone, Copy)]
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

/// Objects that existed and could be reached when a concurrent marking began.
pub(in crate::mark) struct Snapshot;

impl Scope for Snapshot {
    const KIND: Collection = Collection::Full;
    const SNAPSHOT: bool = true;
}
