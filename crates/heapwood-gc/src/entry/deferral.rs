//! Deferred collections: a thread that holds pointers which no root leads to lets its allocations collect nothing until it holds
//! none any more. What comes due meanwhile is noted, and made then. Invariant: between `defer_collections` and
//! `resume_collections` the mutator's own calls begin no collection and make no pause.

use crate::collect::Cause;
use crate::error::{AllocError, Misuse};
use crate::mutator::{Deferral, Mutator};
use crate::policy::pace_limits::{DEFERRED_BYTES, PASSED_BYTES};
use heapwood_heap::{Collection, SpaceError};

impl Mutator {
    /// From now on an allocation on this thread neither collects nor waits for a marking beside the program; the heap grows
    /// beyond its goal instead, up to its limit, where allocation fails. This holds back nobody else: others collect if the heap has
    /// other mutators, or lets its own threads make pauses ([`Heap::set_phases`](crate::Heap::set_phases)).
    pub fn defer_collections(&self) {
        self.deferral().set(Deferral::On);
    }

    /// Whether something has come due since collections were deferred.
    #[inline]
    pub fn is_collection_due(&self) -> bool {
        self.deferral().get() == Deferral::Due || self.shared().posted().is_posted()
    }

    /// Takes [`defer_collections`](Mutator::defer_collections) back, and makes what has come due: the pause that the marker has
    /// posted, and a collection. The thread also stops here if another heap asks it to.
    ///
    /// # Errors
    /// As for [`Mutator::collect`]. Collections are deferred no longer.
    pub fn resume_collections(&self) -> Result<(), Misuse> {
        let was = self.deferral().replace(Deferral::Off);
        if self.is_thread_asked_to_stop() {
            self.safepoint_slow();
        }
        self.make_posted()?;
        let (heap, state) = (self.heap(), self.shared());
        if state.full_collections().is_due() {
            heap.collect_if(self, || state.full_collections().is_due(), Cause::Program(Collection::Full))?;
        }
        match (was, state.stress()) {
            (Deferral::Off, _) => {}
            (_, Some(kind)) => _ = heap.collect_if(self, || true, Cause::Program(kind))?,
            (Deferral::On, None) => {}
            (Deferral::Behind, None) => self.wait_for_marker_once()?,
            (Deferral::Due, None) => _ = heap.collect_if(self, || true, Cause::BudgetExhausted(0))?,
        }
        if self.has_finalizers_to_call() {
            self.call_finalizers();
        }
        Ok(())
    }

    /// Takes it back, and leaves what is due to the next allocation.
    pub fn defer_no_longer(&self) {
        self.deferral().set(Deferral::Off);
    }

    /// Calls `attempt` until it succeeds, beyond the budget; `Mutator::retry` while collections are deferred.
    #[cold]
    pub(super) fn retry_deferred<R>(
        &self,
        bytes: usize,
        attempt: impl Fn() -> Result<R, SpaceError>,
    ) -> Result<R, AllocError> {
        self.check()?;
        let state = self.shared();
        if self.is_thread_asked_to_stop() {
            // In another heap: nobody but this thread makes a pause here.
            self.safepoint_slow();
        }
        if state.stress().is_some() {
            // So who asks between two steps returns at each allocation.
            self.deferral().set(Deferral::Due);
        }
        loop {
            let _no_preempt = self.record().no_preempt();
            match attempt() {
                Ok(result) => return Ok(result),
                Err(SpaceError::CollectionDue) => {
                    self.deferral().set(Deferral::Due);
                    state.space().pass_budget(DEFERRED_BYTES.max(bytes));
                }
                Err(SpaceError::MarkingBehind) => {
                    if self.deferral().get() == Deferral::On {
                        self.deferral().set(Deferral::Behind);
                    }
                    state.space().pass_pace(PASSED_BYTES.max(bytes));
                }
                Err(refused) => return Err(self.allocation_error(bytes, refused)),
            }
        }
    }
}
