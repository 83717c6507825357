//! Finalisers, as a program registers and takes them. Any thread may take data, attached or not, for no object is given; an
//! object is given to an attached one, whose roots keep it from then on. Invariant: a call that fails changes nothing.

use super::{CancelError, FinalizerKind, Registration};
use crate::error::{Misuse, Refusal};
use crate::heap::Heap;
use crate::inject::Fault;
use crate::mark::Shading;
use crate::mutator::Mutator;
use crate::process::record;
use core::ptr::NonNull;
use heapwood_heap::Address;
use heapwood_os::threads::stack::thread_pointer;

/// Names a registration until its object is dead or it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FinalizerToken(u64);

impl FinalizerToken {
    /// The token as a number, for clients that cannot keep the type. Never 0.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The token with this number, which `to_bits` gave.
    pub fn from_bits(bits: u64) -> Self {
        FinalizerToken(bits)
    }
}

/// Names a queue of a heap's finalisers. The default is the heap's own queue, which is always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FinalizerQueue(pub(super) u64);

impl FinalizerQueue {
    /// The queue as a number, for clients that cannot keep the type; 0 for the heap's own.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The queue with this number, which `to_bits` gave.
    pub const fn from_bits(bits: u64) -> Self {
        FinalizerQueue(bits)
    }
}

/// Which of several dead objects are queued first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FinalizeOrder {
    /// One that another ordered one leads to waits until the program has taken that, and has dropped it. Objects that lead to each
    /// other in a circle wait for good; an object's own pointers to itself do not count.
    #[default]
    Ordered,
    /// All that died are queued at once.
    AtOnce,
}

/// An entry that was taken off a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finalized {
    /// The object, whole and ordinary again; `None` if data was registered.
    pub object: Option<NonNull<u8>>,
    /// What was registered with it.
    pub tag: usize,
}

impl Mutator {
    /// Has the object queued when nothing leads to it but queues, and objects that died with it: after the first collection that
    /// finds so, [`Mutator::next_finalized`] gives it, once, with `tag`. Until then it counts as used: what it refers to stays
    /// whole. An object may be registered several times, and is queued once for each.
    ///
    /// # Errors
    /// No object of this heap begins there, it lies in an arena, there is no such queue, the table is full or the kernel gives no
    /// memory for an entry, or the mutator cannot be used now ([`Mutator::check`]).
    pub fn finalize(
        &self,
        object: NonNull<u8>,
        queue: FinalizerQueue,
        order: FinalizeOrder,
        tag: usize,
    ) -> Result<FinalizerToken, Refusal> {
        let kind = match order {
            FinalizeOrder::Ordered => FinalizerKind::Ordered,
            FinalizeOrder::AtOnce => FinalizerKind::AtOnce,
        };
        self.register(object, (queue, kind), tag)
    }

    /// Has `tag` queued when the object is dead for good, and not before other finalisers have given it back:
    /// [`Heap::next_finalized_data`] returns it, once. The object is not revived, and is not read or written again.
    ///
    /// # Errors
    /// As for [`Mutator::finalize`].
    pub fn finalize_data(
        &self,
        object: NonNull<u8>,
        queue: FinalizerQueue,
        tag: usize,
    ) -> Result<FinalizerToken, Refusal> {
        self.register(object, (queue, FinalizerKind::Data), tag)
    }

    fn register(
        &self,
        object: NonNull<u8>,
        (queue, kind): (FinalizerQueue, FinalizerKind),
        tag: usize,
    ) -> Result<FinalizerToken, Refusal> {
        self.check()?;
        let (heap, address) = (self.heap(), object.as_ptr() as usize);
        if !heap.objects().may_begin_outside_arenas(address) {
            return Err(match heap.objects().arena_at(address) {
                Some(arena) => Refusal::CannotFinalizeInArena { address, arena },
                None => Refusal::CannotFinalize { address },
            });
        }
        let _no_preempt = self.record().no_preempt();
        let is_old = heap.space().is_old(Address::new(address));
        let registration = Registration { object: address, is_old, kind, queue: queue.0, tag };
        let added = heap.state().finalizers().add(heap.memory_of_finalizers(), registration);
        self.owned().announce_entries(heap.state().entry_bytes());
        added.map(FinalizerToken)
    }

    /// Takes the entry that has waited longest on a queue, objects before data; `None` if none waits. The object is ordinary
    /// again: it may be used, kept, dropped, and registered.
    ///
    /// # Errors
    /// There is no such queue, or the mutator cannot be used now ([`Mutator::check`]).
    pub fn next_finalized(&self, queue: FinalizerQueue) -> Result<Option<Finalized>, Refusal> {
        self.check()?;
        let _no_preempt = self.record().no_preempt();
        let state = self.shared();
        let taken = state.finalizers().next(queue.0, true)?;
        let Some(taken) = taken else { return Ok(None) };
        if taken.object != 0 && self.barrier().is_concurrent_marking() {
            // A marking whose snapshot knows no path to it learns of it.
            Shading::of(state, self).object(taken.object);
        }
        if state.faults().fails(Fault::FinalizedTwice) && taken.object != 0 {
            let (object, kind) = (taken.object, FinalizerKind::AtOnce);
            let again = Registration { object, is_old: true, kind, queue: queue.0, tag: taken.tag };
            let _ = state.finalizers().add(self.heap().memory_of_finalizers(), again);
        }
        Ok(Some(Finalized { object: NonNull::new(taken.object as *mut u8), tag: taken.tag }))
    }
}

impl Heap {
    /// Where the table of finalisers has its memory from, and the size of the reservation.
    pub(super) fn memory_of_finalizers(&self) -> (heapwood_os::KernelRef, usize) {
        (self.kernel(), self.space().reservation_bytes())
    }

    /// Refuses calls of trace functions, also on a thread that is not attached: a marking that revives what finalisers want calls
    /// them with the table's lock held.
    pub(super) fn check_no_trace(&self) -> Result<(), Misuse> {
        let (here, threads) = (thread_pointer(), self.state().marking_threads());
        match threads.is_marking(here) || threads.is_helping(here) {
            true => Err(Misuse::Tracing),
            false => Ok(()),
        }
    }

    /// Makes a queue of finalisers.
    ///
    /// # Errors
    /// There are as many as there can be, or the kernel gives no memory; or the call comes from a trace function, so with the others.
    pub fn new_finalizer_queue(&self) -> Result<FinalizerQueue, Refusal> {
        self.check_no_trace()?;
        let _no_preempt = record().no_preempt();
        self.state().finalizers().add_queue(self.memory_of_finalizers()).map(FinalizerQueue)
    }

    /// Ends a queue.
    ///
    /// # Errors
    /// It has entries or registrations, it is the heap's own, or there is none of that number.
    pub fn end_finalizer_queue(&self, queue: FinalizerQueue) -> Result<(), Refusal> {
        self.check_no_trace()?;
        let _no_preempt = record().no_preempt();
        self.state().finalizers().end_queue(queue.0)
    }

    /// Cancels a registration, on any thread; returns its tag.
    ///
    /// # Errors
    /// Its object is dead, and the entry is on the queue or was taken; or it was cancelled before, or is none.
    pub fn cancel_finalizer(&self, token: FinalizerToken) -> Result<usize, Refusal> {
        self.check_no_trace()?;
        let _no_preempt = record().no_preempt();
        self.state().finalizers().cancel(token.0).map_err(|refused| match refused {
            CancelError::Queued => Refusal::FinalizerQueued,
            CancelError::NoEntry => Refusal::NoFinalizer { token: token.0 },
        })
    }

    /// Cancels a registration of an object, for clients that keep no tokens; returns its tag, or `None` if the object has none that
    /// is not queued. Of several it takes any.
    ///
    /// # Errors
    /// The call comes from a trace function.
    pub fn cancel_finalizer_of(&self, object: NonNull<u8>) -> Result<Option<usize>, Misuse> {
        self.check_no_trace()?;
        let _no_preempt = record().no_preempt();
        Ok(self.state().finalizers().cancel_of(object.as_ptr() as usize))
    }

    /// Takes the data that has waited longest on a queue for an object that is dead, on any thread, also in a hook; `None` if none
    /// waits. On the heap's own queue that costs one load.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn next_finalized_data(&self, queue: FinalizerQueue) -> Result<Option<usize>, Refusal> {
        if queue == FinalizerQueue::default() && self.finalizers().1 == 0 {
            return Ok(None);
        }
        self.check_no_trace()?;
        let _no_preempt = record().no_preempt();
        Ok(self.state().finalizers().next(queue.0, false)?.map(|taken| taken.tag))
    }

    /// Queues all that is registered, each once and in no order: before a heap ends, so that what its objects own outside is freed
    /// as well. Returns how many wait. The objects live on.
    ///
    /// # Errors
    /// A thread is attached and its mutator cannot be used now ([`Mutator::check`]).
    pub fn finalize_all(&self) -> Result<usize, Misuse> {
        self.check_no_trace()?;
        if let Some(mutator) = Mutator::here(self) {
            // SAFETY: it is this thread's, and stays attached during the call.
            unsafe { mutator.as_ref() }.check()?;
        }
        let _no_preempt = record().no_preempt();
        self.state().finalizers().queue_all();
        self.state().finalizers().tell();
        Ok(self.state().finalizers().counts().1)
    }

    /// Registrations, and entries that wait.
    pub fn finalizers(&self) -> (usize, usize) {
        let (registered, queued, _) = self.state().finalizers().counts();
        (registered, queued)
    }
}
