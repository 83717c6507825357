//! A stop that only looks at the heap: the threads stop as for a collection, and go on. Invariant: nothing is marked or
//! swept, no collection or marker runs until the look is over, and it counts as no collection and no pause.

use super::client::ClientPart;
use super::collector::{Collector, CollectorTurn};
use crate::observe::{MemoryAccount, Times};
use crate::state::State;
use core::ops::Range;
use heapwood_os::Mapped;

/// A kind of table beside the space of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeapTable {
    MarkStacks,
    Remembered,
    MarkingLog,
    Roots,
    Mutators,
    Checks,
}

impl Collector {
    /// Where the memory of the heap's pages is, at one moment. The calling thread has no running mutator.
    pub(crate) fn account_of_pages(&self, state: &State, turn: &CollectorTurn<'_>) -> MemoryAccount {
        // Nobody waits in a stop for a batch that is being swept.
        let _sweeping = self.sweeping.lock();
        let mut times = Times::begin(state.space(), turn.work().last_ended);
        let nobody = ClientPart::of(state, None);
        let pause = self.stop_world(state, &mut times, nobody);
        pause.owners().for_each(|owner| owner.publish());
        let account = MemoryAccount::of_pages(state, &pause.world().parts(pause.owners()));
        drop(pause.resume(|members| {
            if self.stops_by_signals() {
                self.registry().remove_gone(members);
            }
        }));
        account
    }

    /// Calls `f` with the mapping of each table beside the space.
    pub(crate) fn for_each_table(
        &self,
        state: &State,
        turn: &CollectorTurn<'_>,
        f: &mut dyn FnMut(HeapTable, Range<usize>),
    ) {
        self.registry().for_each_mapping(&mut |mapping| f(HeapTable::Mutators, mapping));
        let tables: [(HeapTable, &dyn Mapped); 12] = [
            (HeapTable::MarkStacks, turn.work()),
            (HeapTable::MarkStacks, state.ephemerons()),
            (HeapTable::Remembered, state.remembered()),
            (HeapTable::MarkingLog, state.marking_log()),
            (HeapTable::Roots, self.roots()),
            (HeapTable::Roots, state.finalizers()),
            (HeapTable::Roots, state.links()),
            (HeapTable::Checks, self.snapshots()),
            (HeapTable::Checks, &self.verify()),
            (HeapTable::Checks, &state.stores()),
            (HeapTable::Checks, &state.quarantine()),
            (HeapTable::Checks, &state.type_names()),
        ];
        for (table, mapped) in tables {
            mapped.for_each_mapping(&mut |mapping| f(table, mapping));
        }
    }
}
