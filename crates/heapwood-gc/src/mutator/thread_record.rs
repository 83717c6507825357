//! A thread's record: its mutators, one for each heap that it is attached to. Invariant: *a thread that waits inside the
//! library is stopped in every heap it is attached to*, and goes on in all of them or in none.
//!
//! Why: were it stopped only in the heap where it waits, a collector of another of its heaps would wait for it, and two
//! threads that collect each other's heaps would wait for each other for good. So every wait (for the collector's lock, the
//! registry's, parked at a poll, for others to stop) lies between a `leave` and an `enter`:
//!
//! ```text
//! leave: each running mutator -> PARKED or BLOCKED; one fence; wake the thread that polls one
//! enter: wait until no poll is set; all -> RUNNING; one fence; look at all polls again: if one is set, back, and wait on
//! ```
//!
//! Then a collector waits only for threads that compute, and there is no circle. Waits nest: a blocking region may attach its
//! thread to one heap more, and wait there. Each `leave` has a level, and its `enter` takes back what left at that level. The
//! models below run under loom.
//!
//! Only the thread itself uses its record, and the handler of a signal that has interrupted it; collectors look at the gates, and
//! the thread that forks at its sections (`section`), which no signal stops.

use super::no_preempt::{Deferred, NoPreempt};
use super::registry::{Member, Registry};
use super::stop::ThreadState;
use core::cell::Cell;
use core::sync::atomic::AtomicU32;
use heapwood_os::sync::{Ordering, fence};

/// What a mutator keeps for its thread's record.
pub(crate) struct Place<M> {
    /// The next of its thread's mutators.
    next: Cell<*const M>,
    /// The level at which it left its heap.
    level: Cell<u32>,
}

impl<M> Place<M> {
    /// In no record.
    pub(crate) const fn new() -> Self {
        Place { next: Cell::new(core::ptr::null()), level: Cell::new(0) }
    }
}

/// A thread's part in one heap, as its record sees it.
pub(crate) trait Part: Member {
    fn place(&self) -> &Place<Self>;
    /// Its thread runs again.
    fn goes_on(&self) {}
    /// Whether its heap stops threads by signals.
    fn is_sent_signals(&self) -> bool {
        false
    }
    /// The thread has come out of what no signal stops it in: it stops here if one of its heaps has asked for that meanwhile.
    fn answer_late(_: &ThreadRecord<Self>) {}
}

/// How many mutators of a thread are looked at where it allocates. They lie far apart, so each may be a cache miss.
const AT_A_LOOK: usize = 8;

/// The mutators of one thread.
pub(crate) struct ThreadRecord<M> {
    first: Cell<*const M>,
    /// The one that the next look begins with, or none: the first.
    next_look: Cell<*const M>,
    /// How many of them belong to heaps that stop threads by signals.
    sent_signals: Cell<usize>,
    /// How many `leave`s have no `enter` yet.
    depth: Cell<u32>,
    pub(super) no_preempt: NoPreempt,
}

/// Some of a thread's mutators have left their heaps, and are to enter them again.
#[derive(Clone, Copy)]
#[must_use = "the thread stays stopped until it enters"]
pub(crate) struct Left {
    level: u32,
    how: ThreadState,
}

impl<M: Part> ThreadRecord<M> {
    /// The record of a thread without mutators. `forking` is not 0 while the process forks.
    pub(crate) const fn new(forking: &'static AtomicU32) -> Self {
        ThreadRecord {
            first: Cell::new(core::ptr::null()),
            next_look: Cell::new(core::ptr::null()),
            sent_signals: Cell::new(0),
            depth: Cell::new(0),
            no_preempt: NoPreempt::new(forking),
        }
    }

    /// No signal stops the thread as long as what is returned exists.
    pub(crate) fn defer(&self) -> Deferred<'_> {
        self.no_preempt.defer()
    }

    /// What `defer` returned was forgotten, and ends now.
    pub(crate) fn end_deferred(&self) {
        drop(self.no_preempt.forgotten());
        M::answer_late(self);
    }

    /// Whether the thread is in a section; for others, whether it was a moment ago.
    pub(crate) fn is_in_no_preempt(&self) -> bool {
        self.no_preempt.is_inside()
    }

    /// The thread's mutators.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &M> {
        let mut at = self.first.get();
        core::iter::from_fn(move || {
            // SAFETY: the list holds attached mutators of this thread, and nobody else changes it.
            let mutator = unsafe { at.as_ref() }?;
            at = mutator.place().next.get();
            Some(mutator)
        })
    }

    /// Whether a signal may stop the thread in one of its heaps.
    #[inline(always)]
    pub(super) fn is_sent_signals(&self) -> bool {
        self.sent_signals.get() != 0
    }

    /// Whether `f` is so of one of the thread's mutators: of all if they are few, and of a few each time if they are many, in turn. What
    /// a thread of many heaps pays where it allocates in one does not grow with their number, and it comes to each soon.
    pub(super) fn any_in_turn(&self, f: impl Fn(&M) -> bool) -> bool {
        let mut at = self.next_look.get();
        if at.is_null() {
            at = self.first.get();
        }
        let mut found = false;
        for _ in 0..AT_A_LOOK {
            // SAFETY: the list holds attached mutators of this thread, and nobody else changes it.
            let Some(mutator) = (unsafe { at.as_ref() }) else { break };
            found |= f(mutator);
            at = mutator.place().next.get();
        }
        self.next_look.set(at);
        found
    }

    /// Whether the thread may touch any of its heaps.
    pub(crate) fn is_running(&self) -> bool {
        self.iter().any(|m| m.gate().is_running())
    }

    /// Leaves the heaps in which the thread runs. One where `note` says that its stack is not known here goes on running.
    pub(crate) fn leave(&self, how: ThreadState, note: impl Fn(&M) -> bool) -> Left {
        let level = self.depth.get() + 1;
        self.depth.set(level);
        let left = Left { level, how };
        self.leave_too(left, note);
        left
    }

    /// Leaves those as well in which the thread runs now.
    pub(crate) fn leave_too(&self, left: Left, note: impl Fn(&M) -> bool) {
        let _whole = self.no_preempt.defer();
        for mutator in self.iter().filter(|m| m.gate().is_running()) {
            if note(mutator) {
                mutator.place().level.set(left.level);
                mutator.gate().leave(left.how);
            }
        }
        fence(Ordering::SeqCst);
        self.at(left).for_each(|m| m.gate().wake_collector());
    }

    /// Enters the heaps again that were left so, all at once, when no collector asks the thread to stop.
    pub(crate) fn enter(&self, left: Left) {
        self.enter_once(left);
        M::answer_late(self);
    }

    /// The same; a signal that came while it entered is not answered.
    pub(super) fn enter_once(&self, left: Left) {
        loop {
            self.at(left).for_each(|m| m.gate().sleep_while_asked());
            let _whole = self.no_preempt.defer();
            self.at(left).for_each(|m| m.gate().enter());
            fence(Ordering::SeqCst);
            if !self.at(left).any(|m| m.gate().is_asked()) {
                self.at(left).for_each(|m| {
                    m.goes_on();
                    m.place().level.set(0);
                });
                self.depth.set(left.level - 1);
                return;
            }
            self.at(left).for_each(|m| m.gate().leave(left.how));
            fence(Ordering::SeqCst);
            self.at(left).for_each(|m| m.gate().wake_collector());
        }
    }

    /// Those that left at a level.
    pub(super) fn at(&self, left: Left) -> impl Iterator<Item = &M> {
        self.iter().filter(move |m| m.place().level.get() == left.level)
    }

    /// Attaches the thread with a new mutator, which has left its heap; it enters with those that left with it.
    ///
    /// # Safety
    /// 1. The mutator is the thread's alone, in no list, and stays where it is until it is detached.
    pub(crate) unsafe fn attach(&self, registry: &Registry<M>, mutator: &M, left: Left) {
        {
            let _whole = self.no_preempt.defer();
            mutator.gate().leave(left.how);
            mutator.place().level.set(left.level);
            mutator.place().next.set(self.first.get());
            self.first.set(mutator);
            self.sent_signals.set(self.sent_signals.get() + usize::from(mutator.is_sent_signals()));
        }
        registry.add(mutator);
    }

    /// The first half of detaching: the mutator leaves its heap for good. Whatever keeps objects alive was cleared.
    pub(crate) fn quit(&self, mutator: &M) {
        let _whole = self.no_preempt.defer();
        if !mutator.gate().is_blocked() {
            mutator.gate().leave(ThreadState::InNative);
            fence(Ordering::SeqCst);
            mutator.gate().wake_collector();
        }
        mutator.place().level.set(0);
    }

    /// The other half: it is in no list any more.
    ///
    /// # Safety
    /// 1. It is one of this thread's, has quit, and its thread does not use it afterwards.
    pub(crate) unsafe fn detach(&self, registry: &Registry<M>, mutator: core::ptr::NonNull<M>) {
        // SAFETY: contract 1.
        let m = unsafe { mutator.as_ref() };
        {
            let _whole = self.no_preempt.defer();
            let before = self.iter().find(|other| core::ptr::eq(other.place().next.get(), m));
            before.map_or(&self.first, |other| &other.place().next).set(m.place().next.get());
            self.next_look.set(core::ptr::null());
            self.sent_signals.set(self.sent_signals.get() - usize::from(m.is_sent_signals()));
        }
        // SAFETY: contract 1.
        unsafe { registry.remove(mutator) };
    }
}
