//! The mutators of a heap, linked through themselves: the attached ones, and spare ones that earlier threads have left;
//! and how a collector stops all of them. Invariant: the list of attached mutators holds exactly those that a
//! collection stops and scans; a mutator outside it belongs to no thread. A thread that asks mutators to stop holds the
//! lock until it has resumed them.

use super::stop::Gate;
use crate::lock_order::REGISTRY;
use core::cell::Cell;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_os::LockGuard;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::{ForkLock, Lock, Mapped, Reservation};

/// The most spare mutators.
const SPARE: usize = 16;

/// Time after which a stop by polls looks how long it has waited.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time after which a stop by signals sends another signal. The first was not lost, but it may have come where it could
/// not be answered: on a stack that the heap does not know.
const SEND_AGAIN: Duration = Duration::from_millis(2);
/// The limit to which that time grows.
const SEND_SELDOM: Duration = Duration::from_millis(100);

/// A mutator, as its heap's registry sees it.
pub(crate) trait Member: Sized {
    /// Its gate.
    fn gate(&self) -> Gate<'_>;
    /// The next in its list.
    fn next(&self) -> &Cell<*const Self>;
    /// About to be attached: from now on a collection finds it. The caller holds the lock.
    fn join(&self) {}
    /// Returns its cached memory. It is stopped.
    fn flush(&self);
    /// Its thread was asked to stop: sends it a signal, if its heap stops threads by signals. If the thread has ended,
    /// the mutator has stopped.
    fn interrupt(&self) {}
    /// Its thread has ended without detaching: it has stopped for good.
    fn is_gone(&self) -> bool {
        false
    }
    /// Calls `f` with the addresses of its memory.
    fn for_each_mapping(&self, _: &mut dyn FnMut(Range<usize>)) {}
    /// Takes it from its thread; true if its memory must stay, so that a later use by that thread is an error.
    fn retire(&self) -> bool;
    /// Whether its thread has this thread pointer.
    fn is_of(&self, _thread: usize) -> bool {
        true
    }
    /// Releases its memory.
    ///
    /// # Safety
    /// 1. It is in no list, and nobody uses it.
    unsafe fn release(this: NonNull<Self>);
}

/// A mutator's place in its heap's registry.
pub(crate) struct Link<M> {
    /// The next of its heap's mutators, or of those kept for reuse.
    next: Cell<*const M>,
    /// The memory that it lies in.
    memory: Cell<Option<Reservation>>,
}

impl<M> Link<M> {
    /// The place of a mutator in no list, which lies in this memory.
    pub(super) const fn new(memory: Reservation) -> Self {
        Link { next: Cell::new(core::ptr::null()), memory: Cell::new(Some(memory)) }
    }

    /// The next in its list.
    pub(super) fn next(&self) -> &Cell<*const M> {
        &self.next
    }

    /// Calls `f` with the addresses of the memory that it lies in.
    pub(super) fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        let memory = self.memory.take();
        memory.for_each_mapping(f);
        self.memory.set(memory);
    }

    /// The memory that it lies in; the mutator is gone when the result is dropped.
    pub(super) fn take_memory(&self) -> Option<Reservation> {
        self.memory.take()
    }
}

/// The mutators of a heap.
pub(crate) struct Registry<M: Member> {
    lists: Lock<MutatorLists<M>, REGISTRY>,
    /// The number of attached mutators.
    attached: AtomicUsize,
}

struct MutatorLists<M: Member> {
    /// In a forked child: mutators of threads that do not exist there.
    orphans: *const M,
    attached: *const M,
    spare: *const M,
    spares: usize,
}

// SAFETY: the pointers are followed only by the thread that holds the registry's lock.
unsafe impl<M: Member> Send for MutatorLists<M> {}

/// The attached mutators. While this is held, none is attached or detached.
pub(crate) struct Members<'r, M: Member>(LockGuard<'r, MutatorLists<M>, REGISTRY>);

/// A mutator has not stopped in the time that it was given.
#[derive(Debug)]
pub(crate) struct StopTimeout;

/// The time since a moment of the monotonic clock.
fn since(ns: u64) -> Duration {
    Duration::from_nanos(monotonic_ns().saturating_sub(ns))
}

/// The mutators of a list; the caller holds its lock.
fn iterate<'r, M: Member + 'r>(mut at: *const M) -> impl Iterator<Item = &'r M> + Clone {
    core::iter::from_fn(move || {
        // SAFETY: the list holds attached mutators, and the lock is held.
        let mutator = unsafe { at.as_ref() }?;
        at = mutator.next().get();
        Some(mutator)
    })
}

impl<M: Member> Members<'_, M> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &M> + Clone {
        iterate(self.0.attached)
    }

    /// Stops all mutators, by signals if `by_signals`. Calls `waits` with a mutator that has kept it waiting, and the
    /// seconds so far. Returns the last mutator that it waited for, and the nanoseconds from the first request until that was
    /// seen to have stopped; all others had stopped by then. `None` if it waited for none.
    ///
    /// # Errors
    /// A mutator has not answered `at_most` so long. Then all are resumed.
    pub(crate) fn stop(
        &self,
        by_signals: bool,
        at_most: Option<Duration>,
        mut waits: impl FnMut(&M, u32),
    ) -> Result<Option<(&M, u64)>, StopTimeout> {
        let (asked, mut last) = (monotonic_ns(), None);
        self.iter().for_each(|m| m.gate().request());
        if by_signals {
            self.iter().filter(|m| !m.gate().has_stopped()).for_each(M::interrupt);
        }
        for mutator in self.iter() {
            if mutator.gate().has_stopped() {
                continue;
            }
            let (began, mut told) = (monotonic_ns(), 0);
            let mut patience = if by_signals { SEND_AGAIN } else { LOOK_EVERY };
            let mut send_after = patience;
            loop {
                let left = at_most.map(|at_most| at_most.saturating_sub(since(asked)));
                if mutator.gate().await_stopped_for(left.map_or(patience, |left| left.min(patience))) {
                    break;
                }
                if left.is_some_and(|left| left.is_zero()) {
                    self.resume();
                    return Err(StopTimeout);
                }
                // A signal of the program may have cut the wait short.
                let waited = since(began);
                if by_signals && waited >= send_after {
                    mutator.interrupt();
                    patience = (patience * 2).min(SEND_SELDOM);
                    send_after = waited + patience;
                }
                if waited.as_secs() > told {
                    told = waited.as_secs();
                    waits(mutator, told as u32);
                }
            }
            last = Some((mutator, monotonic_ns().saturating_sub(asked)));
        }
        Ok(last)
    }

    /// Calls `f` with a mutator that has stopped of its own accord, and keeps it stopped meanwhile; returns whether it
    /// had stopped.
    pub(crate) fn with_stopped(&self, mutator: &M, f: impl FnOnce(&M)) -> bool {
        mutator.gate().request();
        let stopped = mutator.gate().has_stopped();
        if stopped {
            f(mutator);
        }
        mutator.gate().resume();
        stopped
    }

    /// Resumes all mutators.
    pub(crate) fn resume(&self) {
        self.iter().for_each(|m| m.gate().resume());
    }
}

impl<M: Member> Registry<M> {
    pub(crate) fn new() -> Self {
        let none = core::ptr::null();
        Registry {
            lists: Lock::new(MutatorLists { orphans: none, attached: none, spare: none, spares: 0 }),
            attached: AtomicUsize::new(0),
        }
    }

    /// The attached mutators.
    pub(crate) fn lock(&self) -> Members<'_, M> {
        Self::members(self.lists.lock())
    }

    /// The same if the lock is free; a collection holds it as long as it lasts.
    pub(crate) fn try_lock(&self) -> Option<Members<'_, M>> {
        self.lists.try_lock().map(Self::members)
    }

    fn members(mut lists: LockGuard<'_, MutatorLists<M>, REGISTRY>) -> Members<'_, M> {
        if !lists.orphans.is_null() {
            // SAFETY: their threads are not in this process.
            unsafe { lists.forget_orphans() };
        }
        Members(lists)
    }

    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.lists
    }

    /// The attached mutators, for a caller that holds that lock, or in whose process no other thread changes the list.
    pub(crate) fn attached_list(&self) -> impl Iterator<Item = &M> {
        // SAFETY: the list does not change meanwhile.
        iterate(unsafe { self.lists.held() }.attached)
    }

    /// In a forked child: keeps the mutators of the surviving thread, which has this pointer. The next use of the list
    /// returns the others' memory; many children have none.
    pub(crate) fn adopt(&self, survivor: usize) {
        let mut lists = self.lists.lock();
        let (mut link, mut mine) = (&raw mut lists.attached, core::ptr::null::<M>());
        let mut count = 0;
        // SAFETY: the list holds attached mutators, and the lock is held. Mutators that stay in it are not written.
        unsafe {
            while let Some(mutator) = (*link).as_ref() {
                if mutator.is_of(survivor) {
                    *link = mutator.next().get();
                    mutator.next().set(mine);
                    mine = mutator;
                    count += 1;
                } else {
                    link = mutator.next().as_ptr();
                }
            }
        }
        lists.orphans = core::mem::replace(&mut lists.attached, mine);
        self.attached.store(count, Ordering::Relaxed);
    }

    /// The number of attached mutators at this moment; some may be about to leave.
    pub(crate) fn attached_now(&self) -> usize {
        self.attached.load(Ordering::Relaxed)
    }

    /// The number of attached mutators; 0 only if the last has left completely. Otherwise it does not wait: a
    /// collection holds the lock while it waits for the attached threads.
    pub(crate) fn attached(&self) -> usize {
        match self.attached_now() {
            0 => {
                let _lists = self.lists.lock();
                self.attached_now()
            }
            some => some,
        }
    }

    /// Calls `f` with the memory of each mutator, attached or spare.
    pub(crate) fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        let members = self.lock();
        for list in [members.0.attached, members.0.spare] {
            iterate(list).for_each(|mutator: &M| mutator.for_each_mapping(f));
        }
    }

    /// Takes a spare mutator, which is then in no list.
    pub(crate) fn take_spare(&self) -> Option<NonNull<M>> {
        self.lists.lock().take_spare()
    }

    /// Attaches the mutator.
    pub(crate) fn add(&self, mutator: &M) {
        let mut lists = self.lists.lock();
        mutator.join();
        mutator.next().set(lists.attached);
        lists.attached = mutator;
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// Detaches the mutator: returns its cached memory, then keeps it as a spare or releases it.
    ///
    /// # Safety
    /// 1. It is attached, its thread as good as stopped, and its thread does not use it afterwards.
    pub(crate) unsafe fn remove(&self, mutator: NonNull<M>) {
        // SAFETY: contract 1.
        unsafe { self.take_out(&mut self.lists.lock(), mutator) };
    }

    /// Detaches the mutators of threads that have ended. No mutator is asked to stop.
    pub(crate) fn remove_gone(&self, members: &mut Members<'_, M>) {
        loop {
            let gone = members.iter().find(|m| m.is_gone()).map(NonNull::from);
            let Some(gone) = gone else { return };
            // SAFETY: it is attached, and no thread uses it.
            unsafe { self.take_out(&mut members.0, gone) };
        }
    }

    /// # Safety
    /// 1. As for [`Registry::remove`].
    unsafe fn take_out(&self, lists: &mut MutatorLists<M>, mutator: NonNull<M>) {
        // SAFETY: contract 1.
        let m = unsafe { mutator.as_ref() };
        m.flush();
        let mut link = &raw mut lists.attached;
        // SAFETY: the list holds attached mutators, including this one, and the lock is held.
        unsafe {
            while *link != mutator.as_ptr() {
                link = (**link).next().as_ptr();
            }
            *link = m.next().get();
        }
        self.attached.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: it has just left the list, and by contract 1 its thread uses it no more.
        unsafe { lists.keep(mutator) };
    }
}

impl<M: Member> MutatorLists<M> {
    fn take_spare(&mut self) -> Option<NonNull<M>> {
        let mutator = NonNull::new(self.spare.cast_mut())?;
        // SAFETY: spare mutators stay mapped.
        self.spare = unsafe { mutator.as_ref() }.next().get();
        self.spares -= 1;
        Some(mutator)
    }

    /// Returns the cached memory of mutators whose threads do not exist in this process.
    ///
    /// # Safety
    /// 1. No thread uses them.
    unsafe fn forget_orphans(&mut self) {
        let mut at = core::mem::replace(&mut self.orphans, core::ptr::null());
        // SAFETY: the list holds mutators, which stay mapped.
        while let Some(mutator) = unsafe { at.as_ref() } {
            at = mutator.next().get();
            mutator.flush();
            // SAFETY: it is in no list now, and no thread's.
            unsafe { self.keep(NonNull::from(mutator)) };
        }
    }

    /// Keeps a mutator as a spare, or releases its memory.
    ///
    /// # Safety
    /// 1. It is in no list, and no thread uses it.
    unsafe fn keep(&mut self, mutator: NonNull<M>) {
        // SAFETY: contract 1.
        let m = unsafe { mutator.as_ref() };
        if !m.retire() && self.spares >= SPARE {
            // SAFETY: contract 1.
            unsafe { M::release(mutator) };
            return;
        }
        m.next().set(self.spare);
        self.spare = m;
        self.spares += 1;
    }
}

impl<M: Member> Drop for MutatorLists<M> {
    fn drop(&mut self) {
        let mut at = self.orphans;
        // SAFETY: as in `forget_orphans`; the heap goes, and their memory with it.
        while let Some(mutator) = unsafe { at.as_ref() } {
            at = mutator.next().get();
            // SAFETY: as above.
            unsafe { M::release(NonNull::from(mutator)) };
        }
        while let Some(mutator) = self.take_spare() {
            // SAFETY: it is in no list any more, and the heap goes.
            unsafe { M::release(mutator) };
        }
    }
}
