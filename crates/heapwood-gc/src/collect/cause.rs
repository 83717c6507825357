//! Why there is a collection. Invariant: a cause says nothing about who collects.

use crate::policy::{NextCollection, Nursery};
use crate::state::State;
use core::sync::atomic::Ordering;
use heapwood_heap::Collection;

/// Why there is a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The budget between two collections is exhausted; the allocation that found so is of N bytes.
    BudgetExhausted(usize),
    /// An allocation found no room.
    AllocationFailed,
    /// The program asks, for a full or a young collection.
    Program(Collection),
    /// The heap is idle.
    Idle,
    /// A concurrent marking is to start.
    StartMarking,
    /// A concurrent marking is to end.
    FinishMarking,
}

impl Cause {
    pub(crate) fn is_allocation(self) -> bool {
        matches!(self, Cause::BudgetExhausted(_) | Cause::AllocationFailed)
    }

    /// Free memory is wanted back.
    pub(super) fn wants_room(self) -> bool {
        matches!(self, Cause::AllocationFailed | Cause::Idle)
    }

    /// The program waits for what the collection frees.
    pub(super) fn is_program(self) -> bool {
        matches!(self, Cause::Program(_))
    }

    /// Whether it starts or ends a concurrent marking, which no load of the machine may turn into a promotion.
    pub(super) fn is_marking(self) -> bool {
        matches!(self, Cause::StartMarking | Cause::FinishMarking)
    }

    /// The collection to prepare for: young or full. What the stop finds may change it (`plan`).
    pub(super) fn expected(self, state: &State, nursery: &Nursery) -> Collection {
        let is_young = match self {
            // A large object may take the place of one that is old.
            Cause::BudgetExhausted(bytes) => {
                nursery.next() != NextCollection::Full
                    && state.live().saturating_add(bytes) <= state.goal().load(Ordering::Relaxed)
            }
            Cause::Program(kind) => kind == Collection::Young && nursery.is_on(),
            Cause::StartMarking => true,
            Cause::FinishMarking | Cause::AllocationFailed | Cause::Idle => false,
        };
        if is_young { Collection::Young } else { Collection::Full }
    }
}
