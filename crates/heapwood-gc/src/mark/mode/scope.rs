//! The scope of a marking: which objects it marks. Invariant: an object outside the scope is not marked.

use crate::inject::{Fault, FaultInjector};
use core::sync::atomic::Ordering;
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

    /// Called for each object that this marking marks, once it is marked; whether it is counted and scanned now.
    #[inline(always)]
    fn marked(&self, _: usize) -> bool {
        true
    }
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

    fn marked(&self, object: usize) -> bool {
        if !self.faults.fails(Fault::SurvivorUnmarked) {
            // SAFETY: the object was marked just now, and mutators are stopped.
            unsafe { self.full.set(object) };
        }
        true
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
    /// Objects with a mark here are left alone, if this is false, or others, if it is true.
    pub(in crate::mark) only: Option<(bool, MarkSide)>,
    /// This side takes the marks, too.
    pub(in crate::mark) also: Option<MarkSide>,
    /// Whether an object that was marked is to be scanned now.
    pub(in crate::mark) met: Option<&'h dyn Fn(usize) -> bool>,
}

impl<const SNAPSHOT: bool> Scope for Revival<'_, SNAPSHOT> {
    /// Of a full collection the look-ups of a young one are right, and cost more.
    const KIND: Collection = if SNAPSHOT { Collection::Full } else { Collection::Young };
    const SNAPSHOT: bool = SNAPSHOT;

    fn has(&self, object: usize) -> bool {
        self.only.is_none_or(|(marked, side)| {
            let (word, bit) = side.word(object);
            // SAFETY: edges lie below the committed end, whose bits are committed.
            (unsafe { (*word).load(Ordering::Relaxed) } & bit != 0) == marked
        })
    }

    fn marked(&self, object: usize) -> bool {
        if let Some(side) = self.also {
            // SAFETY: the object was marked just now, and mutators are stopped.
            unsafe { side.set(object) };
        }
        self.met.is_none_or(|met| met(object))
    }
}
