//! Regions without collections, for clients whose pointers lie anywhere while the thread is inside, and in known roots alone while it
//! is outside (gc-arena's `mutate` is such a region). Outside the mutator *rests*: it counts as stopped, as in a blocking region,
//! but in its own heap only, so that mutators of one thread rest and enter in any order. Inside the thread neither stops nor
//! collects: allocation goes on beyond the budget, up to the limit, and notes what is owed; the client pays it when it is outside.
//!
//! Invariant: no pause of the heap overlaps with a region. So a collector waits for the longest one; and a thread in a region of one
//! heap that waits for another heap's collection makes collectors of the first wait, too.

use crate::collect::Cause;
use crate::error::{AllocError, MisuseError};
use crate::heap::Heap;
use crate::inject::Fault;
use crate::mutator::no_collection::Owed;
use crate::mutator::registry::Member;
use crate::mutator::{Mutator, ThreadState};
use crate::process::record;
use crate::state::FullCollections;
use crate::state::barrier_bits::MARK;
use heapwood_heap::{Collection, SpaceError};

impl Mutator {
    /// Ends a region without collections, even if the thread panics; or begins the rest of a mutator that was attached just now. The
    /// thread must not hold a pointer to an object afterwards but in roots.
    ///
    /// # Panics
    /// In a heap that stops threads by signals: one could stop the thread in a region.
    pub fn rest(&self) {
        assert!(
            !self.stops_by_signals(),
            "a heap whose threads rest stops them by polls: set the option `stop`"
        );
        self.no_collection().set_inside(false);
        self.gate().answer_program();
        self.regions().begin();
        if self.shared().verifies() {
            // So that inline allocation by a thread that rests reaches the slow path, which reports the misuse. A signal of another heap
            // would stop the thread with this heap's locks.
            let _no_preempt = self.record().no_preempt();
            self.flush();
        }
        // Looked at before the mutator rests: a collector may take its cached memory afterwards. If nobody waits for that yet, a thread
        // that begins to meanwhile is woken in vain.
        let holds = !self.shared().wakeup().waits_for_holders() || self.owned().holds_something();
        self.record().rest(self, ThreadState::InNative);
        self.shared().wakeup().mutator_left(holds);
    }

    /// Begins a region without collections: the mutator, which rests, may be used until it [rests](Mutator::rest) again. Waits for a
    /// pause of its heap that is under way.
    ///
    /// # Errors
    /// It is another thread's, or was detached; or it does not rest.
    pub fn begin_no_collection(&self) -> Result<(), MisuseError> {
        self.check_at_rest()?;
        // While it waits it is stopped in its other heaps, too, except where it is in a region.
        let record = self.record();
        record.elsewhere(None, |left| record.wake(self, left));
        self.no_collection().set_inside(true);
        Ok(())
    }

    /// Whether a region without collections had better end: a collection is due, or another thread wants to collect. One load.
    #[inline(always)]
    pub fn is_wanted_outside(&self) -> bool {
        self.is_polled_for()
    }

    /// Calls `attempt` until it succeeds, in a region without collections: what exceeds the budget is owed.
    #[cold]
    pub(super) fn retry_without_collection<R>(
        &self,
        bytes: usize,
        attempt: impl Fn() -> Result<R, SpaceError>,
    ) -> Result<R, AllocError> {
        let (heap, state, space) = (self.heap(), self.shared(), self.shared().space());
        if state.stress().is_some() {
            // Every allocation collects, as soon as it can.
            self.owe(Owed::Budget { seen: state.cycles().collections(), bytes });
        }
        loop {
            let attempted = {
                let _no_preempt = self.record().no_preempt();
                attempt()
            };
            match attempted {
                Ok(result) => return Ok(result),
                Err(SpaceError::CollectionDue) if state.faults().fails(Fault::CollectedInRegion) => {
                    self.no_collection().set_inside(false);
                    let seen = state.cycles().collections();
                    let wanted = || state.cycles().collections() == seen;
                    let collected = heap.collect_if(self, wanted, Cause::BudgetExhausted(bytes));
                    self.no_collection().set_inside(true);
                    collected.map_err(AllocError::Misuse)?;
                }
                Err(SpaceError::CollectionDue) => {
                    self.owe(Owed::Budget { seen: state.cycles().collections(), bytes });
                    let _no_preempt = self.record().no_preempt();
                    space.overdraw(bytes);
                }
                Err(_) if self.release_reserve() => {}
                Err(refused) => {
                    let number = FullCollections::next(state.cycles(), state.barrier() & MARK != 0);
                    self.owe(Owed::Room { number });
                    return Err(match refused {
                        SpaceError::Kernel(e) => AllocError::Kernel(e),
                        _ => AllocError::NoCollection { bytes, limit: heap.limit() },
                    });
                }
            }
        }
    }

    fn owe(&self, owed: Owed) {
        self.no_collection().owe(owed);
        self.request_poll();
    }

    /// Collects, outside of regions, what was owed inside, or what else is due; whether it has.
    ///
    /// # Errors
    /// The mutator does not rest.
    #[inline]
    pub fn collect_owed(&self) -> Result<bool, MisuseError> {
        let state = self.shared();
        let is_due = self.no_collection().owes()
            || state.posted().is_posted()
            || state.full_collections().is_due()
            || state.stress().is_some();
        if is_due { self.collect_due() } else { Ok(false) }
    }

    #[cold]
    fn collect_due(&self) -> Result<bool, MisuseError> {
        self.check_at_rest()?;
        let (heap, state) = (self.heap(), self.shared());
        let cycles = state.cycles();
        let mut collected =
            state.posted().is_posted() && record().elsewhere(None, |_| heap.collector().make_posted(state));
        if let Some(kind) = state.stress() {
            collected |= heap.collect_resting(|| true, Cause::Program(kind));
        }
        if state.full_collections().is_due() {
            collected |=
                heap.collect_resting(|| state.full_collections().is_due(), Cause::Program(Collection::Full));
        }
        collected |= match self.no_collection().take_owed() {
            Owed::Nothing => false,
            Owed::Budget { seen, bytes } => {
                heap.collect_resting(|| cycles.collections() == seen, Cause::BudgetExhausted(bytes))
            }
            Owed::Room { number } => {
                heap.collect_resting(|| cycles.full_collections() < number, Cause::AllocationFailed)
            }
        };
        Ok(collected)
    }

    /// Collects now, outside of regions.
    ///
    /// # Errors
    /// The mutator does not rest; or collections are off.
    pub fn collect_resting(&self, kind: Collection) -> Result<(), MisuseError> {
        self.check_at_rest()?;
        let _ = self.no_collection().take_owed();
        match self.heap().collect_resting(|| true, Cause::Program(kind)) {
            true => Ok(()),
            false => Err(self.heap().refusal()),
        }
    }

    fn check_at_rest(&self) -> Result<(), MisuseError> {
        match self.check() {
            Err(MisuseError::InNative) if self.record().is_at_rest(self) => Ok(()),
            Ok(()) => Err(MisuseError::NoCollection),
            other => other,
        }
    }
}

impl Heap {
    fn collect_resting(&self, wanted: impl Fn() -> bool, cause: Cause) -> bool {
        record().elsewhere(None, |_| self.collect_for(wanted, cause))
    }

    /// How many collections have ended: whoever remembers the number knows whether there was one since. One load.
    pub fn collections(&self) -> u64 {
        self.state().cycles().collections()
    }

    /// The bytes that threads in regions without collections have allocated beyond the budget, since the last collection.
    pub fn debt(&self) -> usize {
        let _no_preempt = record().no_preempt();
        self.space().debt()
    }
}
