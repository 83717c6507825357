//! The mutators of a heap, linked through themselves: the attached ones, and those that earlier threads have left. Invariant:
//! the first list holds exactly the mutators that a collection stops and scans; one that is not in it is no thread's, which
//! its `owner` says.

use super::Mutator;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::TimedLock;
use heapwood_os::timed_lock::TimedGuard;

/// How many mutators a heap keeps for the threads to come.
const SPARE: usize = 16;

/// The mutators of a heap.
pub(crate) struct Registry {
    lists: TimedLock<Lists>,
    /// How many are attached.
    attached: AtomicUsize,
}

struct Lists {
    attached: *const Mutator,
    spare: *const Mutator,
    spares: usize,
}

// SAFETY: the pointers are followed only by whoever holds the registry's lock.
unsafe impl Send for Lists {}

/// The attached mutators, none of which is attached or detached as long as this is held.
pub(crate) struct Members<'r>(TimedGuard<'r, Lists>);

impl Members<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mutator> {
        let mut at = self.0.attached;
        core::iter::from_fn(move || {
            // SAFETY: the list holds attached mutators, and the lock is held.
            let mutator = unsafe { at.as_ref() }?;
            at = mutator.next.get();
            Some(mutator)
        })
    }
}

impl Registry {
    pub(crate) fn new() -> Self {
        let none = core::ptr::null();
        Registry {
            lists: TimedLock::new(Lists { attached: none, spare: none, spares: 0 }),
            attached: AtomicUsize::new(0),
        }
    }

    /// The attached mutators.
    pub(crate) fn lock(&self) -> Members<'_> {
        Members(self.lists.lock())
    }

    /// How many mutators are attached at this moment, some of which may be about to leave.
    pub(crate) fn attached_now(&self) -> usize {
        self.attached.load(Ordering::Relaxed)
    }

    /// How many mutators are attached; none only if the last has left wholly. Otherwise this does not wait: a collection
    /// holds the lock while it waits for the attached threads.
    pub(crate) fn attached(&self) -> usize {
        match self.attached_now() {
            0 => {
                let _lists = self.lists.lock();
                self.attached_now()
            }
            some => some,
        }
    }

    /// The longest that the lock was held, in ticks.
    pub(crate) fn longest_hold(&self) -> u64 {
        self.lists.longest_hold()
    }

    /// A mutator that an earlier thread has left, in no list any more.
    pub(crate) fn take_spare(&self) -> Option<NonNull<Mutator>> {
        self.lists.lock().take_spare()
    }

    /// Keeps a mutator for reuse, or lets its memory go.
    ///
    /// # Safety
    /// 1. It is in no list, and no thread uses it.
    pub(crate) unsafe fn keep(&self, mutator: NonNull<Mutator>) {
        // SAFETY: contract 1.
        unsafe { self.lists.lock().keep(mutator) };
    }

    /// The mutator is attached from now on.
    pub(crate) fn add(&self, mutator: &Mutator) {
        let mut lists = self.lists.lock();
        mutator.next.set(lists.attached);
        lists.attached = mutator;
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// The mutator is detached: what it has set aside goes back, and it is kept or goes itself.
    ///
    /// # Safety
    /// 1. It is attached, its thread's as good as stopped, and its thread does not use it afterwards.
    pub(crate) unsafe fn remove(&self, mutator: NonNull<Mutator>) {
        // SAFETY: contract 1.
        let m = unsafe { mutator.as_ref() };
        let mut lists = self.lists.lock();
        m.flush();
        let mut link = &raw mut lists.attached;
        // SAFETY: the list holds attached mutators, of which this is one, and the lock is held.
        unsafe {
            while *link != mutator.as_ptr() {
                link = (**link).next.as_ptr();
            }
            *link = m.next.get();
        }
        self.attached.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: it has just left the list, and by contract 1 its thread uses it no more.
        unsafe { lists.keep(mutator) };
    }
}

impl Lists {
    fn take_spare(&mut self) -> Option<NonNull<Mutator>> {
        let mutator = NonNull::new(self.spare.cast_mut())?;
        // SAFETY: spare mutators stay mapped.
        self.spare = unsafe { mutator.as_ref() }.next.get();
        self.spares -= 1;
        Some(mutator)
    }

    /// # Safety
    /// 1. As for [`Registry::keep`].
    unsafe fn keep(&mut self, mutator: NonNull<Mutator>) {
        // SAFETY: contract 1.
        let m = unsafe { mutator.as_ref() };
        m.owner.store(0, Ordering::Relaxed);
        // In verify mode none is used again, so that whoever uses it after this is told.
        if self.spares >= SPARE && m.shared().stores().is_none() {
            drop(m.memory.take());
            return;
        }
        m.next.set(self.spare);
        self.spare = m;
        self.spares += 1;
    }
}

impl Drop for Lists {
    fn drop(&mut self) {
        while let Some(mutator) = self.take_spare() {
            // SAFETY: it is in no list any more, and its memory goes with the reservation.
            drop(unsafe { mutator.as_ref() }.memory.take());
        }
    }
}
