//! Why there is a collection, and of what. Invariant: none says anything about who collects.

use super::nursery::{Next, Nursery};
use crate::state::State;
use core::sync::atomic::Ordering;
use heapwood_heap::Collection;

/// Why there is a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// An allocation of so many bytes, after as much as may be allocated between collections.
    Due(usize),
    /// An allocation that found no room.
    NoRoom,
    /// The program, for everything or for what is young.
    Program(Collection),
    /// The heap had nothing to do.
    Idle,
    /// A marking in steps begins, with a young one, or ends.
    #[cfg_attr(not(feature = "stepped"), allow(dead_code, reason = "nothing else marks in steps"))]
    Stepped(Collection),
}

impl Cause {
    pub(super) fn is_allocation(self) -> bool {
        matches!(self, Cause::Due(_) | Cause::NoRoom)
    }

    /// What can be given back is to be.
    pub(super) fn is_for_room(self) -> bool {
        matches!(self, Cause::NoRoom | Cause::Idle)
    }

    /// The program waits for what it frees.
    pub(super) fn is_programs(self) -> bool {
        matches!(self, Cause::Program(_))
    }

    pub(super) fn is_stepped(self) -> bool {
        matches!(self, Cause::Stepped(_))
    }

    /// Whether the collection is a young one, if nothing else comes between.
    pub(super) fn is_for_young(self, state: &State, nursery: &Nursery) -> bool {
        match self {
            // A large object may take the place of one that is old.
            Cause::Due(bytes) => {
                nursery.next() != Next::Full
                    && state.live().saturating_add(bytes) <= state.goal().load(Ordering::Relaxed)
            }
            Cause::Program(of) => of == Collection::Young && nursery.is_on(),
            Cause::Stepped(of) => of == Collection::Young,
            Cause::NoRoom | Cause::Idle => false,
        }
    }
}
