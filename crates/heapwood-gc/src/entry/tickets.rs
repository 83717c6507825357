//! Full collections that go on beside the program: a thread asks for one, gets a ticket, goes on, and waits for it later, or
//! never. Where the heap has a marker thread, that makes it; elsewhere the next thread that allocates on the slow path
//! does, or who waits, or asks whether it has ended. Invariant: waiting and asking end, whatever other threads do, after at most two full
//! collections.

use crate::collect::Cause;
use crate::error::Misuse;
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::state::barrier_bits::MARK;
use core::ptr::from_ref;
use heapwood_heap::Collection;

/// A full collection that a thread has asked for. Any thread of the same heap may wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CollectionTicket {
    /// The address of the heap's state.
    heap: u64,
    /// Which of its full collections it is.
    number: u64,
}

impl CollectionTicket {
    fn of(heap: &Heap, number: u64) -> Self {
        CollectionTicket { heap: from_ref(heap.state()) as u64, number }
    }

    /// Its number, if it is one of this heap, or may be.
    fn number(self, heap: &Heap) -> Result<u64, Misuse> {
        match self == Self::of(heap, self.number) && heap.state().full_collections().knows(self.number) {
            true => Ok(self.number),
            false => Err(Misuse::NoTicket),
        }
    }
}

impl Mutator {
    /// Asks for a full collection, and returns at once. What this thread has dropped by now is gone when that has ended.
    ///
    /// In a heap without a marker thread it is left to the next thread that allocates and needs memory for that, or that asks
    /// whether it has ended.
    ///
    /// # Errors
    /// The mutator cannot be used now ([`Mutator::check`]), or collections are off.
    pub fn start_collection(&self) -> Result<CollectionTicket, Misuse> {
        self.check()?;
        let (heap, state) = (self.heap(), self.shared());
        if heap.space().collections_off() != 0 {
            return Err(heap.refusal());
        }
        // A marking that goes on keeps what was reachable when it began.
        let number = state.full_collections().ask(state.cycles(), state.barrier() & MARK != 0);
        if heap.has_marker() {
            state.marking_requests().ask();
        } else {
            state.full_collections().leave_to_allocation(number);
        }
        Ok(CollectionTicket::of(heap, number))
    }

    /// Waits until the collection has ended, in a blocking region or by collecting.
    ///
    /// # Errors
    /// As for [`Mutator::collect`]; or the ticket is not one of this heap.
    pub fn wait_for(&self, ticket: CollectionTicket) -> Result<(), Misuse> {
        self.check()?;
        let heap = self.heap();
        let (full, requests) = (heap.state().full_collections(), heap.state().marking_requests());
        let number = ticket.number(heap)?;
        let has_ended = || full.has_ended(number);
        while !has_ended() {
            if heap.space().collections_off() != 0 {
                return Err(heap.refusal());
            }
            if heap.has_marker() {
                let posted = heap.state().posted();
                self.blocking(|| full.sleep_until_ended(number, || requests.stops() || posted.is_posted()))?;
                self.make_posted()?;
            } else {
                heap.collect_if(self, || !has_ended(), Cause::Program(Collection::Full))?;
            }
        }
        Ok(())
    }

    /// Whether the collection has ended. In a heap without a marker thread it collects first: a program that does nothing but ask
    /// would wait for good.
    ///
    /// # Errors
    /// As for [`Mutator::collect`]; or the ticket is not one of this heap.
    pub fn is_done(&self, ticket: CollectionTicket) -> Result<bool, Misuse> {
        self.check()?;
        let heap = self.heap();
        let (full, number) = (heap.state().full_collections(), ticket.number(heap)?);
        self.make_posted()?;
        if !full.has_ended(number) && !heap.has_marker() {
            heap.collect_if(self, || !full.has_ended(number), Cause::Program(Collection::Full))?;
        }
        Ok(full.has_ended(number))
    }
}
