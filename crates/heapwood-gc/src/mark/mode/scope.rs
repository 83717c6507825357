//! The scope of a marking: which objects it marks. Invariant: an object outside the scope is not marked.

use crate::inject::{Fault, FaultInjector};
use core::cell::Cell;
use heapwood_heap::{Collection, MarkSide};

/// Which objects a marking marks.
pub(in crate::mark) trait Scope {
    /// The collection whose side of the mark bits takes the marks.
    const KIND: Collection;
    /// Only objects that existed when a concurrent marking took its snapshot. Such a marking defers nothing but the
    /// edges of objects.
    const SNAPSHOT: bool = false;

    /// Whether it may mark the object of an edge.
    #[inline(always)]
    fn has(&self, _: usize) -> bool {
        true
    }

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

/// What finalisers revive after a marking: dead objects and what they lead to, one pause's; `SNAPSHOT` says that a concurrent
/// marking has ended, and only objects of its snapshot are dead.
#[derive(Clone, Copy)]
pub(in crate::mark) struct Revival<'h, const SNAPSHOT: bool> {
    /// This side takes the marks, too.
    pub(in crate::mark) also: Option<MarkSide>,
    /// While what one object leads to is marked: its pointers to itself, which are not followed.
    pub(in crate::mark) own: Option<&'h OwnEdges>,
}

impl<const SNAPSHOT: bool> Scope for Revival<'_, SNAPSHOT> {
    /// Of a full collection the look-ups of a young one are right, and cost more.
    const KIND: Collection = if SNAPSHOT { Collection::Full } else { Collection::Young };
    const SNAPSHOT: bool = SNAPSHOT;

    fn has(&self, object: usize) -> bool {
        self.own.is_none_or(|own| own.has(object))
    }

    fn marked(&self, object: usize) {
        if let Some(side) = self.also {
            // SAFETY: the object was marked just now, and mutators are stopped.
            unsafe { side.set(object) };
        }
    }
}

/// Edges to one object, which are met while what it leads to is marked: they are counted, and not followed.
#[derive(Default)]
pub(in crate::mark) struct OwnEdges {
    object: Cell<usize>,
    met: Cell<usize>,
    /// No other edge is followed either, so that those of the object itself are met alone.
    only_counts: Cell<bool>,
}

impl OwnEdges {
    /// Counts those to this object from now on.
    pub(in crate::mark) fn begin(&self, object: usize, only_counts: bool) {
        self.object.set(object);
        self.met.set(0);
        self.only_counts.set(only_counts);
    }

    /// Those that were met since.
    pub(in crate::mark) fn met(&self) -> usize {
        self.met.get()
    }

    /// Follows all edges from now on.
    pub(in crate::mark) fn end(&self) {
        self.begin(0, false);
    }

    fn has(&self, object: usize) -> bool {
        let is_own = object == self.object.get();
        self.met.set(self.met.get() + usize::from(is_own));
        !is_own && !self.only_counts.get()
    }
}
