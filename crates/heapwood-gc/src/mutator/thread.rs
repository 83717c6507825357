//! A mutator's thread, as the mutator knows it: who it is, whether it may touch the heap, its stacks, and its links in the
//! thread's record. Invariant: the record lives as long as the thread; the owner of a thread that is gone is 0.

use super::region::Regions;
use super::stop::Gate;
use super::thread_record::{Part, Place, ThreadRecord};
use crate::roots::ThreadStack;
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_os::threads::stack::{thread_id, thread_pointer};
use heapwood_os::threads::sync::Futex;

/// The owner of a mutator that its thread has given away; 0 is that of one whose thread is gone.
const GIVEN: usize = 1;

/// The thread of a mutator.
#[repr(C)]
pub(super) struct MutatorThread<M> {
    /// Whether this thread may touch the heap (`stop`).
    state: Futex,
    number: AtomicU32,
    /// Its thread pointer; 0 once it is detached.
    owner: AtomicUsize,
    stack: ThreadStack,
    /// Its record, which lives as long as the thread.
    record: *const ThreadRecord<M>,
    /// The mutator's links in that record.
    place: Place<M>,
    regions: Regions,
    /// It stays stopped until somebody lets it go on (`suspend`). Used only under the registry's lock.
    is_suspended: Cell<bool>,
}

impl<M: Part> MutatorThread<M> {
    /// The calling thread, on this stack and with this record.
    pub(super) fn here(stack: ThreadStack, record: *const ThreadRecord<M>) -> Self {
        MutatorThread {
            state: Futex::new(0),
            number: AtomicU32::new(thread_id()),
            owner: AtomicUsize::new(thread_pointer()),
            stack,
            record,
            place: Place::new(),
            regions: Regions::new(),
            is_suspended: Cell::new(false),
        }
    }

    /// The gate at which it stops, with the poll flag of its mutator.
    #[inline(always)]
    pub(super) fn gate<'m>(&'m self, poll: &'m Futex) -> Gate<'m> {
        Gate::new(poll, &self.state)
    }

    /// The system's number of it.
    #[inline(always)]
    pub(super) fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// In a forked child: its number in this process.
    pub(super) fn set_number(&self, number: u32) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Its thread pointer; 0 once it is detached.
    #[inline(always)]
    pub(super) fn owner(&self) -> usize {
        self.owner.load(Ordering::Relaxed)
    }

    /// It has ended, or is about to: its stack is scanned no more.
    pub(super) fn clear_stack(&self) {
        self.stack.clear(self.owner());
    }

    /// It has given the mutator away. The caller holds the registry's lock, and the record is not read from now on.
    pub(super) fn give(&self) {
        self.owner.store(GIVEN, Ordering::Relaxed);
    }

    /// Whether it was given away.
    pub(super) fn is_given(&self) -> bool {
        self.owner() == GIVEN
    }

    /// It does not use the mutator any more.
    pub(super) fn disown(&self) {
        self.owner.store(0, Ordering::Relaxed);
    }

    /// Its stacks.
    #[inline(always)]
    pub(super) fn stack(&self) -> &ThreadStack {
        &self.stack
    }

    /// Its mutators, for itself.
    #[inline(always)]
    pub(super) fn record(&self) -> &ThreadRecord<M> {
        // SAFETY: only the mutator's thread calls this, and the record lives as long as that.
        unsafe { &*self.record }
    }

    /// Whether it is in a no-preempt region, or was a moment ago. The caller holds the registry's lock.
    pub(super) fn is_in_no_preempt(&self) -> bool {
        // SAFETY: the record lives as long as its thread, which waits for the lock before it ends; the owner of a
        // thread that is gone is 0, and that of one that was given away is no thread's. The words that are read are atomic.
        self.owner() > GIVEN && unsafe { &*self.record }.is_in_no_preempt()
    }

    /// The mutator's links in its record.
    #[inline(always)]
    pub(super) fn place(&self) -> &Place<M> {
        &self.place
    }

    /// Whether it stays stopped after a collection. The caller holds the registry's lock, or is in a forked child.
    pub(super) fn suspended(&self) -> &Cell<bool> {
        &self.is_suspended
    }

    /// Its blocking regions.
    #[inline(always)]
    pub(super) fn regions(&self) -> &Regions {
        &self.regions
    }
}
