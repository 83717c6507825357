//! A thread's record: its mutators, one for each heap to which it is attached. Invariant: *a thread that waits inside
//! the library is stopped in every heap to which it is attached*, and goes on in all of them or in none.
//!
//! Otherwise a collector of another of its heaps would wait for the thread, and two threads that collect each other's
//! heaps would wait for each other for good. So every wait (for the collector's lock, for the registry's, at a poll,
//! for other threads to stop) lies between a `leave` and an `enter`:
//!
//! ```text
//! leave: each running mutator -> AT_SAFEPOINT or IN_NATIVE; one fence; wake the threads that poll one
//! enter: wait until no poll is set; all -> RUNNING; one fence; read all polls again; any set: leave, wait
//! ```
//!
//! Then a collector waits only for threads that compute, and there is no cycle. Waits nest: a blocking region may
//! attach its thread to another heap, and wait there. Each `leave` has a level, and its `enter` takes back the mutators
//! that left at that level. The models in `model` run under loom.
//!
//! Only the thread itself uses its record, and the handler of a signal that interrupts it. Collectors read the gates; a
//! fork reads the no-preempt regions (`no_preempt`).

use super::no_preempt::{Deferred, NoPreempt};
use super::registry::{Member, Registry};
use super::stop::ThreadState;
use crate::lock_order::OF_SPACES;
use core::cell::Cell;
use core::sync::atomic::AtomicU32;
use heapwood_os::threads::lock_order::holds_one_of;
use heapwood_os::threads::sync::{Ordering, fence};

/// A mutator's links in its thread's record.
pub(crate) struct Place<M> {
    /// The next of its thread's mutators.
    next: Cell<*const M>,
    /// The level at which it left its heap.
    level: Cell<u32>,
}

impl<M> Place<M> {
    /// Links of a mutator in no record.
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
    /// The thread has left a no-preempt region: stops here if one of its heaps has asked meanwhile.
    fn answer_late(_: &ThreadRecord<Self>) {}
}

/// Mutators of a thread that one allocation looks at. They lie far apart, so each may be a cache miss.
const AT_A_LOOK: usize = 8;

/// The mutators of one thread.
pub(crate) struct ThreadRecord<M> {
    first: Cell<*const M>,
    /// The mutator with which the next look begins; null for the first.
    next_look: Cell<*const M>,
    /// The number of its mutators in heaps that stop threads by signals.
    sent_signals: Cell<usize>,
    /// The number of `leave`s without `enter`.
    depth: Cell<u32>,
    /// The thread is in a hook of a collection.
    in_hook: Cell<bool>,
    pub(super) no_preempt: NoPreempt,
}

/// The level of a mutator at rest: that of no `leave`.
const AT_REST: u32 = u32::MAX;

/// Mutators of a thread that have left their heaps, and will enter them again.
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
            in_hook: Cell::new(false),
            no_preempt: NoPreempt::new(forking),
        }
    }

    /// Begins a region in which no signal stops the thread, until the guard goes.
    pub(crate) fn defer(&self) -> Deferred<'_> {
        self.no_preempt.defer()
    }

    /// Ends a region whose guard was forgotten.
    pub(crate) fn end_deferred(&self) {
        drop(self.no_preempt.forgotten());
        M::answer_late(self);
    }

    /// Whether the thread is in a no-preempt region; for other threads, whether it was a moment ago.
    pub(crate) fn is_in_no_preempt(&self) -> bool {
        self.no_preempt.is_inside()
    }

    /// Calls a hook of a collection; the thread is stopped in all its heaps.
    pub(crate) fn in_hook(&self, hook: impl FnOnce()) {
        let outer = self.in_hook.replace(true);
        hook();
        self.in_hook.set(outer);
    }

    /// Whether the thread is in a hook of a collection.
    pub(crate) fn is_in_hook(&self) -> bool {
        self.in_hook.get()
    }

    /// The thread's mutators.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &M> {
        let mut at = self.first.get();
        core::iter::from_fn(move || {
            // SAFETY: the list holds attached mutators of this thread, and no other thread changes it.
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

    /// Whether `f` is true of one of the thread's mutators. It asks all if they are few, and some in turn if they are
    /// many: so the cost of an allocation does not grow with the number of heaps, and each mutator is soon asked.
    pub(super) fn any_in_turn(&self, f: impl Fn(&M) -> bool) -> bool {
        let mut at = self.next_look.get();
        if at.is_null() {
            at = self.first.get();
        }
        let mut found = false;
        for _ in 0..AT_A_LOOK {
            // SAFETY: the list holds attached mutators of this thread, and no other thread changes it.
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

    /// Leaves the heaps in which the thread runs, except those for which `note` says that the stack is not known.
    pub(crate) fn leave(&self, how: ThreadState, note: impl Fn(&M) -> bool) -> Left {
        let level = self.depth.get() + 1;
        self.depth.set(level);
        let left = Left { level, how };
        self.leave_too(left, note);
        left
    }

    /// Also leaves the heaps in which the thread runs now, at the same level.
    pub(crate) fn leave_too(&self, left: Left, note: impl Fn(&M) -> bool) {
        debug_assert!(!holds_one_of(OF_SPACES), "a thread stops with a lock that its collector may wait for");
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

    /// Leaves one heap, in which the thread runs, until it [wakes](Self::wake) the mutator; the thread's other heaps are not concerned.
    pub(crate) fn rest(&self, mutator: &M, how: ThreadState) {
        let _whole = self.no_preempt.defer();
        mutator.place().level.set(AT_REST);
        mutator.gate().leave(how);
        fence(Ordering::SeqCst);
        mutator.gate().wake_collector();
    }

    /// Whether one of its mutators rests.
    pub(crate) fn is_at_rest(&self, mutator: &M) -> bool {
        mutator.place().level.get() == AT_REST
    }

    /// Has a mutator at rest enter its heap with those that left at this level.
    pub(crate) fn wake(&self, mutator: &M, left: Left) {
        debug_assert!(self.is_at_rest(mutator));
        mutator.place().level.set(left.level);
    }

    /// The heaps that a mutator's thread left together with the mutator's, if that was its last `leave` and it runs in none.
    pub(crate) fn left_with(&self, mutator: &M, how: ThreadState) -> Option<Left> {
        let level = mutator.place().level.get();
        (level != 0 && level == self.depth.get() && !self.is_running()).then_some(Left { level, how })
    }

    /// The same, wherever else the thread runs.
    pub(crate) fn left_last(&self, mutator: &M, how: ThreadState) -> Option<Left> {
        let level = mutator.place().level.get();
        (level != 0 && level == self.depth.get()).then_some(Left { level, how })
    }

    /// Enters the heaps that it left at this level, all at once, when no collector asks the thread to stop.
    pub(crate) fn enter(&self, left: Left) {
        self.enter_once(left);
        M::answer_late(self);
    }

    /// The same; a signal that came meanwhile is not answered.
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

    /// The mutators that left at this level.
    pub(super) fn at(&self, left: Left) -> impl Iterator<Item = &M> {
        self.iter().filter(move |m| m.place().level.get() == left.level)
    }

    /// Attaches the thread with a new mutator, in the state of those that left at this level; it enters with them.
    ///
    /// # Safety
    /// 1. The mutator is the thread's alone, in no list, and stays in place until it is detached.
    pub(crate) unsafe fn attach(&self, registry: &Registry<M>, mutator: &M, left: Left) {
        // SAFETY: contract 1.
        unsafe { self.link(mutator, left) };
        registry.add(mutator);
    }

    /// The same for a mutator that is in its heap's list.
    ///
    /// # Safety
    /// 1. The mutator is the thread's alone, in no record, and stays in place until it is detached or given away. No collector looks
    ///    at it meanwhile.
    pub(crate) unsafe fn link(&self, mutator: &M, left: Left) {
        let _whole = self.no_preempt.defer();
        mutator.gate().leave(left.how);
        mutator.place().level.set(left.level);
        mutator.place().next.set(self.first.get());
        self.first.set(mutator);
        self.sent_signals.set(self.sent_signals.get() + usize::from(mutator.is_sent_signals()));
    }

    /// The first half of detaching: the mutator leaves its heap for good. Its roots were cleared before.
    pub(crate) fn quit(&self, mutator: &M) {
        let _whole = self.no_preempt.defer();
        if !mutator.gate().is_blocked() {
            mutator.gate().leave(ThreadState::InNative);
            fence(Ordering::SeqCst);
            mutator.gate().wake_collector();
        }
        mutator.place().level.set(0);
    }

    /// Takes a mutator that has quit out of the thread's list.
    pub(crate) fn unlink(&self, mutator: &M) {
        let _whole = self.no_preempt.defer();
        let before = self.iter().find(|other| core::ptr::eq(other.place().next.get(), mutator));
        before.map_or(&self.first, |other| &other.place().next).set(mutator.place().next.get());
        self.next_look.set(core::ptr::null());
        self.sent_signals.set(self.sent_signals.get() - usize::from(mutator.is_sent_signals()));
    }

    /// The second half: takes the mutator out of all lists.
    ///
    /// # Safety
    /// 1. It is one of this thread's, has quit, and its thread does not use it afterwards.
    pub(crate) unsafe fn detach(&self, registry: &Registry<M>, mutator: core::ptr::NonNull<M>) {
        // SAFETY: contract 1.
        self.unlink(unsafe { mutator.as_ref() });
        // SAFETY: contract 1.
        unsafe { registry.remove(mutator) };
    }
}
