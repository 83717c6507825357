//! Ephemerons: a key and a value, which is kept only while something else leads to the key (Hayes, "Ephemerons", OOPSLA 1997).
//! They are objects of a scan kind of their own; here is what markings keep of them. A marker that comes to one whose key has no
//! mark lists it; the fixed point (`mark/ephemerons.rs`) finds out which of those keys are reached after all, and the phase after
//! marking clears the rest. docs/design/weak.md has the whole design.
//!
//! Invariant: what a marking lists is claimed for it, by a number that no other marking of the heap has, so that a marking that
//! is given up leaves nothing to be cleaned up.

mod cell;
mod list;
mod pending;

pub(crate) use cell::Ephemeron;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_os::{KernelRef, Mapped, OsError};
pub(crate) use list::List;
use list::SharedList;
pub(crate) use pending::PendingIndex;

/// The ephemerons that one marking has come to: that of a pause, or a concurrent one.
#[derive(Default)]
pub(crate) struct OfMarking {
    number: AtomicUsize,
    /// Their keys had no mark yet.
    undecided: SharedList,
    /// Nothing was left to mark, and their keys had none, or they have no value to wait for.
    waiting: SharedList,
}

impl OfMarking {
    /// Those to be looked at once more.
    pub(crate) fn undecided(&self) -> &SharedList {
        &self.undecided
    }

    /// Those to be cleared if their keys stay without a mark.
    pub(crate) fn waiting(&self) -> &SharedList {
        &self.waiting
    }

    /// Claims an ephemeron for the marking; false if it was.
    pub(crate) fn claim(&self, ephemeron: Ephemeron) -> bool {
        ephemeron.claim(self.number.load(Ordering::Relaxed))
    }

    /// Clears those that wait and whose keys are dead; how many were looked at, and cleared.
    fn clear(&self, mut is_dead: impl FnMut(usize) -> bool) -> (usize, usize) {
        let (waiting, mut looked, mut cleared) = (self.waiting.take(), 0, 0);
        while let Some(ephemeron) = waiting.take() {
            looked += 1;
            if is_dead(ephemeron.key()) {
                ephemeron.clear();
                cleared += 1;
            }
        }
        (looked, cleared)
    }
}

/// The ephemerons of one heap.
pub(crate) struct Ephemerons {
    are_some: AtomicBool,
    /// Markings that have begun.
    markings: AtomicUsize,
    pause: OfMarking,
    session: OfMarking,
    index: PendingIndex,
    looked: AtomicU64,
    cleared: AtomicU64,
}

impl Ephemerons {
    /// Those of a heap with this reservation: none.
    pub(crate) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        Ok(Ephemerons {
            are_some: AtomicBool::new(false),
            markings: AtomicUsize::new(0),
            pause: OfMarking::default(),
            session: OfMarking::default(),
            index: PendingIndex::new(kernel, reservation)?,
            looked: AtomicU64::new(0),
            cleared: AtomicU64::new(0),
        })
    }

    /// Asks for what collectors need, before there is an ephemeron. In a no-preempt region.
    pub(crate) fn begin(&self) -> Result<(), OsError> {
        if !self.are_some.load(Ordering::Relaxed) {
            self.index.begin()?;
            self.are_some.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Those of the marking that goes on now: of a concurrent one, or of a pause.
    #[inline(always)]
    pub(crate) fn of(&self, is_session: bool) -> &OfMarking {
        if is_session { &self.session } else { &self.pause }
    }

    /// A marking begins.
    pub(crate) fn begin_marking(&self, is_session: bool) -> &OfMarking {
        let of = self.of(is_session);
        of.number.store(self.markings.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.forget(is_session);
        of
    }

    /// Forgets what a marking has listed, which ends without having marked all: everything is kept.
    pub(crate) fn forget(&self, is_session: bool) {
        let of = self.of(is_session);
        if !(of.undecided.is_empty() && of.waiting.is_empty()) {
            of.undecided.take();
            of.waiting.take();
        }
    }

    /// In a forked child: forgets a marking at whatever point it had reached.
    pub(crate) fn give_up(&self) {
        self.forget(false);
        self.index.forget();
    }

    /// The index of those that wait for their keys.
    pub(crate) fn index(&self) -> &PendingIndex {
        &self.index
    }

    /// Adds to the ephemerons that fixed points have looked at.
    pub(crate) fn add_looked(&self, looked: usize) {
        self.looked.fetch_add(looked as u64, Ordering::Relaxed);
    }

    /// Whether a marking has left some to be cleared.
    #[inline(always)]
    pub(crate) fn wait(&self, is_session: bool) -> bool {
        !self.of(is_session).waiting.is_empty()
    }

    /// Clears those whose keys are dead; how many were looked at.
    pub(crate) fn clear(&self, is_session: bool, is_dead: impl FnMut(usize) -> bool) -> usize {
        let (looked, cleared) = self.of(is_session).clear(is_dead);
        self.add_looked(looked);
        self.cleared.fetch_add(cleared as u64, Ordering::Relaxed);
        looked
    }

    /// Gives back what a large fixed point has needed.
    pub(crate) fn trim(&self) {
        self.index.trim();
    }

    /// Ephemerons that were ever cleared, and how often collections have looked at one.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let steps = self.index.steps() as u64;
        (self.cleared.load(Ordering::Relaxed), self.looked.load(Ordering::Relaxed) + steps)
    }
}

impl Mapped for Ephemerons {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.index.for_each_mapping(f);
    }
}
