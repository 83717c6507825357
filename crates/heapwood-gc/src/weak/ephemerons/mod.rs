//! Ephemerons: a key and a value, which is kept only while something else leads to the key (Hayes, "Ephemerons", OOPSLA 1997).
//! They are objects of a scan kind of their own; here is what markings keep of them. A marker that comes to one whose key has no
//! mark lists it; the fixed point (`mark/ephemerons.rs`) finds out which of those keys are reached after all, and the phase after
//! marking clears the rest. docs/design/weak.md has the whole design.
//!
//! Invariant: what a marking lists is claimed for it, by a number that no other marking of the heap has, so that a marking that
//! is given up leaves nothing to be cleaned up.

mod cell;
mod keys;
mod pending;

use cell::SharedList;
pub(crate) use cell::{Ephemeron, List};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_os::{KernelRef, Mapped, OsError, for_each_mapping_of};
use keys::Keys;
pub(crate) use pending::PendingIndex;

/// The ephemerons that one marking has come to: that of a pause, or a concurrent one.
pub(crate) struct OfMarking {
    number: AtomicUsize,
    /// Their keys had no mark yet.
    undecided: SharedList,
    /// Of those, what one thread is about to look at once more.
    next: SharedList,
    /// They wait for their keys, and have values to keep.
    index: PendingIndex,
    /// Nothing was left to mark, and their keys had no mark; they have no value to wait for, or it is marked.
    waiting: SharedList,
    /// Their fixed point has begun: the marking goes on in its scope.
    is_settling: AtomicBool,
}

impl OfMarking {
    fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        Ok(OfMarking {
            number: AtomicUsize::new(0),
            undecided: SharedList::default(),
            next: SharedList::default(),
            index: PendingIndex::new(kernel, reservation)?,
            waiting: SharedList::default(),
            is_settling: AtomicBool::new(false),
        })
    }

    /// The next one to be looked at once more, by one thread.
    pub(crate) fn next(&self) -> Option<Ephemeron> {
        if self.next.is_empty() {
            self.next.replace(self.undecided.take());
        }
        self.next.take_first()
    }

    /// Whether some are to be looked at.
    pub(crate) fn are_undecided(&self) -> bool {
        !(self.undecided.is_empty() && self.next.is_empty())
    }

    /// The index of those that wait for their keys.
    pub(crate) fn index(&self) -> &PendingIndex {
        &self.index
    }

    /// After a fixed point: those that wait in the index are looked at once more when the marking has gone on.
    pub(crate) fn look_again(&self) {
        let list = List::default();
        self.index.take_all(|ephemeron| list.add(ephemeron));
        self.undecided.join(&list);
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.is_settling.load(Ordering::Relaxed)
    }

    /// The fixed point begins.
    pub(crate) fn begin_settling(&self) {
        self.is_settling.store(true, Ordering::Relaxed);
    }

    /// Forgets all that it has listed.
    fn forget(&self) {
        self.is_settling.store(false, Ordering::Relaxed);
        for list in [&self.undecided, &self.next, &self.waiting] {
            if !list.is_empty() {
                list.take();
            }
        }
        if !self.index.is_empty() {
            self.index.forget();
        }
    }

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
        let (mut looked, mut cleared) = (0, 0);
        let mut look = |ephemeron: Ephemeron| {
            looked += 1;
            // The program may have removed it from its table.
            if ephemeron.key() != 0 && is_dead(ephemeron.key()) {
                ephemeron.clear();
                cleared += 1;
            }
        };
        let waiting = self.waiting.take();
        while let Some(ephemeron) = waiting.take() {
            look(ephemeron);
        }
        self.index.take_all(look);
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
    cleared: AtomicU64,
    /// In verify mode.
    keys: Option<Keys>,
}

impl Ephemerons {
    /// Those of a heap with this reservation: none.
    pub(crate) fn new(kernel: KernelRef, reservation: usize, verifies: bool) -> Result<Self, OsError> {
        Ok(Ephemerons {
            are_some: AtomicBool::new(false),
            markings: AtomicUsize::new(0),
            pause: OfMarking::new(kernel, reservation)?,
            session: OfMarking::new(kernel, reservation)?,
            cleared: AtomicU64::new(0),
            keys: verifies.then(|| Keys::new(kernel, reservation)).transpose()?,
        })
    }

    /// Asks for what collectors need, before there is an ephemeron. In a no-preempt region.
    pub(crate) fn begin(&self) -> Result<(), OsError> {
        if !self.are_some() {
            self.pause.index.begin()?;
            self.session.index.begin()?;
            self.are_some.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Whether there was ever one.
    #[inline(always)]
    pub(crate) fn are_some(&self) -> bool {
        self.are_some.load(Ordering::Acquire)
    }

    /// What objects are keys, in verify mode.
    pub(crate) fn keys(&self) -> Option<&Keys> {
        self.keys.as_ref()
    }

    /// Those of the marking that goes on now: of a concurrent one, or of a pause.
    #[inline(always)]
    pub(crate) fn of(&self, is_session: bool) -> &OfMarking {
        if is_session { &self.session } else { &self.pause }
    }

    /// A marking begins.
    pub(crate) fn begin_marking(&self, is_session: bool) {
        let of = self.of(is_session);
        of.number.store(self.markings.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        of.forget();
    }

    /// Forgets what a marking in a pause has listed, which ends without having marked all, and so keeps everything; also in a forked
    /// child, at whatever point it had reached.
    pub(crate) fn give_up(&self) {
        self.pause.forget();
    }

    /// Whether a marking has left some to be cleared.
    #[inline(always)]
    pub(crate) fn wait(&self, is_session: bool) -> bool {
        let of = self.of(is_session);
        !(of.waiting.is_empty() && of.index.is_empty())
    }

    /// Clears those whose keys are dead; how many were looked at.
    pub(crate) fn clear(&self, is_session: bool, is_dead: impl FnMut(usize) -> bool) -> usize {
        let (looked, cleared) = self.of(is_session).clear(is_dead);
        self.cleared.fetch_add(cleared as u64, Ordering::Relaxed);
        looked
    }

    /// Gives back what a large fixed point has needed.
    pub(crate) fn trim(&self) {
        self.pause.index.trim();
        self.session.index.trim();
    }

    /// Ephemerons and weak references that were ever cleared.
    pub(crate) fn cleared(&self) -> u64 {
        self.cleared.load(Ordering::Relaxed)
    }
}

impl Mapped for Ephemerons {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.pause.index, &self.session.index], f);
        if let Some(keys) = &self.keys {
            keys.for_each_mapping(f);
        }
    }
}
