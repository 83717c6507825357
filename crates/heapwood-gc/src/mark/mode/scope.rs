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
    /// It marks beside the marking that has ended, and has lists of ephemerons of its own.
    const ON_TRIAL: bool = false;
    /// Whether words of slots may have tags; `None`: the loop asks the heap. Loops that mark much are compiled for both.
    const TAGGED: Option<bool> = Some(false);

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

    /// What is known of the key of an ephemeron that has no mark of this marking.
    #[inline(always)]
    fn unmarked_key(&self, _: usize) -> UnmarkedKey {
        UnmarkedKey::MayCome
    }
}

/// A scope in a heap with tags, or in any heap.
macro_rules! of_words {
    ($($(#[doc = $help:literal])+ $name:ident = $tagged:expr;)*) => { $(
        $(#[doc = $help])+
        #[derive(Clone, Copy)]
        pub(in crate::mark) struct $name<S>(pub(in crate::mark) S);

        impl<S: Scope> Scope for $name<S> {
            const KIND: Collection = S::KIND;
            const SNAPSHOT: bool = S::SNAPSHOT;
            const ON_TRIAL: bool = S::ON_TRIAL;
            const TAGGED: Option<bool> = $tagged;

            #[inline(always)]
            fn has(&self, object: usize) -> bool {
                self.0.has(object)
            }

            #[inline(always)]
            fn marked(&self, object: usize) -> bool {
                self.0.marked(object)
            }

            #[inline(always)]
            fn unmarked_key(&self, key: usize) -> UnmarkedKey {
                self.0.unmarked_key(key)
            }
        }
    )* };
}

of_words! {
    /// In a heap with tags.
    Tagged = Some(true);
    /// In a heap with tags or without: for what marks little.
    InAnyHeap = None;
}

/// The key of an ephemeron, which a marking has not marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mark) enum UnmarkedKey {
    /// It may be marked yet.
    MayCome,
    /// Something else keeps it, or will.
    IsKept,
    /// Nothing keeps it, and the ephemeron need not be listed.
    IsLost,
}

/// Every object that can be reached.
#[derive(Clone, Copy)]
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
#[derive(Clone, Copy)]
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
    /// Whether an object that was marked is to be scanned now.
    pub(in crate::mark) met: Option<&'h dyn Fn(usize) -> bool>,
    /// Objects with a mark here will have one, too.
    pub(in crate::mark) kept: Option<MarkSide>,
}

impl<const SNAPSHOT: bool> Scope for Revival<'_, SNAPSHOT> {
    /// Of a full collection the look-ups of a young one are right, and cost more.
    const KIND: Collection = if SNAPSHOT { Collection::Full } else { Collection::Young };
    const SNAPSHOT: bool = SNAPSHOT;
    const TAGGED: Option<bool> = None;

    fn marked(&self, object: usize) -> bool {
        if let Some(side) = self.also {
            // SAFETY: the object was marked just now, and mutators are stopped.
            unsafe { side.set(object) };
        }
        self.met.is_none_or(|met| met(object))
    }

    fn unmarked_key(&self, key: usize) -> UnmarkedKey {
        match self.kept.is_some_and(|kept| has_mark(kept, key)) {
            true => UnmarkedKey::IsKept,
            false => UnmarkedKey::MayCome,
        }
    }
}

/// The same on trial, beside the marking that has ended: what it does not mark, and finalisers may revive.
#[derive(Clone, Copy)]
pub(in crate::mark) struct OnTrial<'h, const SNAPSHOT: bool> {
    /// The side that the marking has marked.
    pub(in crate::mark) marked: MarkSide,
    /// All that is revived, if that is known.
    pub(in crate::mark) kept: Option<MarkSide>,
    /// Whether an object that was marked is to be scanned now.
    pub(in crate::mark) met: Option<&'h dyn Fn(usize) -> bool>,
}

impl<const SNAPSHOT: bool> Scope for OnTrial<'_, SNAPSHOT> {
    const KIND: Collection = <Revival<'static, SNAPSHOT> as Scope>::KIND;
    const SNAPSHOT: bool = SNAPSHOT;
    const ON_TRIAL: bool = true;
    const TAGGED: Option<bool> = None;

    /// What is kept is asked first: when it is known the marking may have gone on.
    fn has(&self, object: usize) -> bool {
        match self.kept {
            Some(kept) => has_mark(kept, object),
            None => !has_mark(self.marked, object),
        }
    }

    fn marked(&self, object: usize) -> bool {
        self.met.is_none_or(|met| met(object))
    }

    fn unmarked_key(&self, key: usize) -> UnmarkedKey {
        match (has_mark(self.marked, key), self.kept) {
            (true, _) => UnmarkedKey::IsKept,
            (false, None) => UnmarkedKey::MayCome,
            (false, Some(kept)) if has_mark(kept, key) => UnmarkedKey::IsKept,
            (false, Some(_)) => UnmarkedKey::IsLost,
        }
    }
}

fn has_mark(side: MarkSide, object: usize) -> bool {
    let (word, bit) = side.word(object);
    // SAFETY: edges and keys that die lie below the committed end, whose bits are committed.
    unsafe { (*word).load(Ordering::Relaxed) & bit != 0 }
}
