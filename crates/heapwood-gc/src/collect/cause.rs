//! Why there is a collection. Invariant: a cause says nothing about who collects.

use crate::policy::{NextCollection, Nursery};
use crate::state::{Quarantine, State};
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
    /// A concurrent marking is to start: now, or, if much is young, after a young collection in its place.
    StartMarking { at_once: bool },
    /// A concurrent marking is to end, in the same way.
    FinishMarking { at_once: bool },
}

impl Cause {
    /// Its name in trace lines.
    pub(super) fn name(self) -> &'static str {
        match self {
            Cause::BudgetExhausted(_) => "budget",
            Cause::AllocationFailed => "no-room",
            Cause::Program(_) => "program",
            Cause::Idle => "idle",
            Cause::StartMarking { .. } | Cause::FinishMarking { .. } => "marker",
        }
    }

    /// Whether trace lines call it forced: it comes out of turn.
    pub(super) fn is_forced(self) -> bool {
        matches!(self, Cause::Program(_) | Cause::Idle)
    }

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

    /// Whether a young collection may come first, if there is much to do for it.
    pub(super) fn may_wait(self) -> bool {
        matches!(self, Cause::StartMarking { at_once: false } | Cause::FinishMarking { at_once: false })
    }

    /// The collection to prepare for: young or full. What the stop finds may change it (`plan`).
    /// While a marking beside the program is `active` only what would exceed the goal by too much does not wait for it.
    pub(super) fn expected(self, state: &State, nursery: &Nursery, active: bool) -> Collection {
        // In verify mode only a full collection lets go what was freed.
        let is_over = |quarantine: &Quarantine| quarantine.is_over(state.cycles().collections());
        let is_over = !active && state.quarantine().is_some_and(is_over);
        let is_young = match self {
            Cause::BudgetExhausted(_) if is_over => false,
            // A large object may take the place of one that is old.
            Cause::BudgetExhausted(bytes) => {
                (active || nursery.next() != NextCollection::Full)
                    && (state.cycles().live() + state.space().external().rose_since_full())
                        .saturating_add(bytes)
                        <= state.cycles().goal().load(Ordering::Relaxed)
            }
            Cause::Program(kind) => kind == Collection::Young && nursery.remembers(),
            Cause::StartMarking { .. } => true,
            Cause::FinishMarking { .. } | Cause::AllocationFailed | Cause::Idle => false,
        };
        if is_young { Collection::Young } else { Collection::Full }
    }
}
