//! Finalisers: a program registers an object, or data that an object owns outside the heap, and finds the object, or the data,
//! on a queue when nothing else leads to the object. No function of the program is called. The collector moves entries in the
//! phase after marking (`resolve`); the program takes them when and where it likes, as from Guile's guardians
//! (Dybvig, Bruggeman, Eby, PLDI 1993); that only data is given, and not the object, is Java's `Cleaner` and Go's
//! `AddCleanup`. docs/design/finalization.md has the whole design.
//!
//! | file | contents |
//! |---|---|
//! | `register` | what a program calls: registering, cancelling, taking |
//! | `notify` | how a program waits, or is called, where a queue has something |
//! | `calls` | calls of finalisers that are under way on a thread |
//! | `counts` | copies of its counts |
//! | `entries` | an entry for each registration |
//! | `index` | the entries of an object |
//! | `queues` | the queues |
//! | `telling` | how a program is told of a queue |
//! | `table` | all of these: registering, cancelling, and the passes of a collection |
//! | `pause` | the table in a pause |
//! | `resolve` | what a pause does with it: queues what dead objects are registered for, and revives what the program is to have |
//!
//! Invariant: each registration is queued once, after its object is dead, or cancelled. The lock is held in no-preempt regions
//! only, so a collector may take it in a stop; it marks while it holds it.

pub(crate) mod calls;
mod counts;
mod entries;
mod index;
mod notify;
mod pause;
mod queues;
pub(crate) mod register;
mod resolve;
mod table;
mod telling;

pub(crate) use entries::FinalizerKind;
pub(crate) use pause::FinalizersInPause;
pub(crate) use queues::{QueueNumber, Taken};
pub(crate) use table::{CancelError, Pass, Registration};
pub use telling::FinalizerCall;

use crate::error::Refusal;
use crate::lock_order::FINALIZERS;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use counts::Counts;
use heapwood_os::threads::sync::Futex;
use heapwood_os::{ForkLock, KernelRef, Lock, LockGuard, Mapped, OsError};
use table::Table;

/// A heap has room for one entry for each N bytes of its reservation, and for no more than this.
const RESERVATION_BYTES_AN_ENTRY: usize = 1 << 10;
const MOST: usize = 1 << 26;
/// Entries that a marker beside the program looks at while it holds the lock.
const AT_ONCE: usize = 1 << 12;

/// The finalisers of one heap. The table is reserved for the first, or for the first queue.
#[derive(Default)]
pub(crate) struct Finalizers {
    table: Lock<Option<Table>, FINALIZERS>,
    /// There is one.
    is_in_use: AtomicBool,
    counts: Counts,
}

type Guard<'f> = LockGuard<'f, Option<Table>, FINALIZERS>;

impl Finalizers {
    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.table
    }

    /// Objects that are registered, entries that wait on queues, and all that ever did.
    pub(crate) fn counts(&self) -> (usize, usize, u64) {
        (self.counts.registered(), self.counts.queued(), self.counts.ever_queued())
    }

    /// Circles of waiting objects that the last full collection has found.
    pub(crate) fn circles(&self) -> usize {
        self.counts.circles()
    }

    fn change<R>(&self, table: Guard<'_>, f: impl FnOnce(&Table) -> R) -> Option<R> {
        let table = table.as_ref()?;
        let result = f(table);
        self.counts.copy(table, 0);
        Some(result)
    }

    /// The table of a heap with this reservation.
    fn table(&self, (kernel, reservation): (KernelRef, usize)) -> Result<Guard<'_>, OsError> {
        let mut table = self.table.lock();
        if table.is_none() {
            let most = (reservation / RESERVATION_BYTES_AN_ENTRY).min(MOST);
            *table = Some(Table::new(kernel, most)?);
            self.is_in_use.store(true, Ordering::Relaxed);
        }
        Ok(table)
    }

    /// Registers an object of a heap with this reservation. Returns the registration's number.
    pub(crate) fn add(&self, of: (KernelRef, usize), registration: Registration) -> Result<u64, Refusal> {
        let table = self.table(of)?;
        let added = self.change(table, |table| table.add(registration));
        let (number, generation) = added.unwrap_or_else(|| unreachable!("there is a table"))?;
        Ok(u64::from(generation) << 32 | u64::from(number))
    }

    /// Cancels a registration; returns its tag.
    pub(crate) fn cancel(&self, number: u64) -> Result<usize, CancelError> {
        let entry = (number as u32, (number >> 32) as u32);
        self.change(self.table.lock(), |table| table.cancel(entry)).unwrap_or(Err(CancelError::NoEntry))
    }

    /// Cancels a registration of an object, if it has one; returns its tag.
    pub(crate) fn cancel_of(&self, object: usize) -> Option<usize> {
        self.change(self.table.lock(), |table| table.cancel_of(object)).flatten()
    }

    /// Takes the entry that has waited longest on a queue, objects before data, or of data alone.
    pub(crate) fn next(&self, queue: QueueNumber, objects: bool) -> Result<Option<Taken>, Refusal> {
        // Most looks find nothing.
        if queue == 0 && self.counts.queued() == 0 {
            return Ok(None);
        }
        let of_none = || if queue == 0 { Ok(None) } else { Err(Refusal::NoQueue { queue }) };
        self.change(self.table.lock(), |table| table.next(queue, objects)).unwrap_or_else(of_none)
    }

    /// Makes a queue of a heap with this reservation.
    pub(crate) fn add_queue(&self, of: (KernelRef, usize)) -> Result<QueueNumber, Refusal> {
        let table = self.table(of)?;
        self.change(table, |table| table.queues().add()).unwrap_or(Err(Refusal::NoQueue { queue: 0 }))
    }

    /// Ends a queue.
    pub(crate) fn end_queue(&self, queue: QueueNumber) -> Result<(), Refusal> {
        self.change(self.table.lock(), |table| table.queues().end(queue))
            .unwrap_or(Err(Refusal::NoQueue { queue }))
    }

    /// How many entries a queue has, and the word that changes when it has more, with what it holds. The word stays as long as the heap.
    pub(crate) fn look(
        &self,
        of: (KernelRef, usize),
        queue: QueueNumber,
    ) -> Result<(usize, &Futex, u32), Refusal> {
        let table = self.table(of)?;
        let looked = self.change(table, |table| table.queues().look(queue));
        let (queued, word, seen) = looked.unwrap_or(Err(Refusal::NoQueue { queue }))?;
        // SAFETY: the table, once made, keeps its queues mapped as long as the heap; the word is only used as an atomic.
        Ok((queued, unsafe { &*word }, seen))
    }

    /// A queue's eventfd.
    pub(crate) fn fd(&self, of: (KernelRef, usize), queue: QueueNumber) -> Result<i32, Refusal> {
        let table = self.table(of)?;
        self.change(table, |table| table.queues().fd(queue)).unwrap_or(Err(Refusal::NoQueue { queue }))
    }

    /// Sets the function of a queue, or removes it.
    pub(crate) fn set_call(
        &self,
        of: (KernelRef, usize),
        queue: QueueNumber,
        call: Option<FinalizerCall>,
    ) -> Result<(), Refusal> {
        let table = self.table(of)?;
        self.change(table, |table| table.queues().set_call(queue, call))
            .unwrap_or(Err(Refusal::NoQueue { queue }))
    }

    /// Tells what was queued, when the threads go on.
    pub(crate) fn tell(&self) {
        self.counts.untold.tell(&self.table);
    }

    /// Whether functions of queues are to be called.
    #[inline(always)]
    pub(crate) fn calls(&self) -> bool {
        self.counts.untold.calls()
    }

    /// Takes a function that is to be called inside so many calls, with the place of its queue.
    pub(crate) fn take_call(&self, depth: usize) -> Option<(usize, FinalizerCall)> {
        self.counts.untold.take_call(&self.table, depth)
    }

    /// A call of the function of the queue at this place has returned, or was left.
    pub(crate) fn end_call(&self, at: usize, is_left: bool) {
        self.counts.untold.end_call(&self.table, at, is_left);
    }

    /// In a forked child: all calls were left but this thread's, of the queues at these places.
    pub(crate) fn leave_calls_of_others(&self, mut here: impl Iterator<Item = usize>) {
        self.counts.untold.leave_others(&self.table, &mut here);
    }

    /// Whether objects are registered, or on a queue.
    #[inline(always)]
    pub(crate) fn has_any(&self) -> bool {
        self.counts.registered() | self.counts.queued() != 0
    }

    /// Whether an object is registered.
    pub(crate) fn has(&self, object: usize) -> bool {
        self.has_any() && self.table.lock().as_ref().is_some_and(|table| table.has(object))
    }

    /// Calls `f` with the address of each word that holds an object on a queue; in a young collection only if some may be young.
    pub(crate) fn for_each_root(&self, of_young: bool, f: impl FnMut(usize)) {
        if self.counts.queued() != 0
            && let Some(table) = self.table.lock().as_ref()
        {
            table.for_each_root(of_young, f);
        }
    }

    /// Those of a stopped heap, if it has any.
    pub(crate) fn in_pause(&self) -> Option<FinalizersInPause<'_>> {
        // Of a table without registrations cancelled ones may be left.
        let is_in_use = self.is_in_use.load(Ordering::Relaxed);
        is_in_use.then(|| FinalizersInPause::new(&self.counts, self.table.lock()))
    }

    /// Beside the program, in a marking that has marked all it will: notes which objects it has not marked, some at once; whether
    /// some are left.
    pub(crate) fn suspect(&self, is_unmarked: impl Fn(usize) -> bool) -> bool {
        self.has_any() && self.table.lock().as_ref().is_some_and(|table| table.suspect(AT_ONCE, is_unmarked))
    }

    /// Queues all entries.
    pub(crate) fn queue_all(&self) {
        if let Some(table) = self.table.lock().as_ref() {
            let (registered, _) = table.counts();
            table.queue_all();
            self.counts.copy(table, registered);
        }
    }
}

impl Mapped for Finalizers {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        if let Some(table) = self.table.lock().as_ref() {
            table.for_each_mapping(f);
        }
    }
}
