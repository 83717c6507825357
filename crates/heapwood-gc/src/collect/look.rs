//! A stop that only looks at the heap, or at its threads: these stop as for a collection, and go on. Invariant: nothing is marked
//! or swept, no collection or marker runs until the look is over, and it counts as no collection and no pause.

use super::collector::{Collector, CollectorTurn};
use super::phases::ClientPart;
use crate::mutator::registry::Members;
use crate::mutator::{Client, Mutator};
use crate::observe::{MemoryAccount, Times, Verify, why_alive};
use crate::pause::Pause;
use crate::process::record;
use crate::state::State;
use core::convert::Infallible;
use core::fmt::Write;
use core::ops::Range;
use heapwood_heap::{ObjectRef, ScanKind, ShapeId, Sweeping};
use heapwood_os::{KernelRef, Mapped, OsError};

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
        self.look(state, turn, |pause| MemoryAccount::of_pages(state, &pause.world().parts(pause.owners())))
    }

    /// Suspends the thread for whose client's words `is_it` says so; whether it is attached. The calling thread has no running
    /// mutator.
    pub(crate) fn suspend(&self, state: &State, is_it: impl Fn(&Client) -> bool) -> bool {
        let turn = self.turn();
        let _sweeping = self.sweeping.lock();
        self.look(state, &turn, |pause| {
            let found = pause.members().iter().find(|m| is_it(m.client()));
            found.inspect(|m| m.suspend()).is_some()
        })
    }

    /// Calls `f` with each object, its bytes and its shape, if that is known. What a collection has found dead is gone. The calling
    /// thread has no running mutator, and is refused meanwhile.
    pub(crate) fn walk(
        &self,
        state: &State,
        turn: &CollectorTurn<'_>,
        f: &mut dyn FnMut(ObjectRef, usize, Option<ShapeId>),
    ) {
        let (space, gate) = (state.space(), state.fork_gate());
        while gate.without_fork(|| space.sweep_some(Sweeping::Collector)) {}
        gate.without_fork(|| space.finish_sweep());
        let _sweeping = self.sweeping.lock();
        self.look(state, turn, |pause| {
            record().call_program(state, || {
                pause.world().for_each_object(|object, bytes| {
                    let entry = space.entry_at(object.into());
                    match entry.kind() {
                        None | Some(ScanKind::Arena) => {}
                        Some(ScanKind::Bits) => f(object, bytes, None),
                        Some(ScanKind::Numbered) => {
                            // SAFETY: the object exists, in a span of numbered objects.
                            let entry = unsafe { space.layouts().numbered_entry(object) };
                            f(object, bytes, Some(entry.shape()));
                        }
                        Some(_) => f(object, bytes, Some(entry.shape())),
                    }
                });
            });
        });
    }

    /// Writes why an object is alive. The calling thread has no running mutator.
    ///
    /// # Errors
    /// The kernel refuses memory for the walk.
    pub(crate) fn why_alive(
        &self,
        kernel: KernelRef,
        state: &State,
        turn: &CollectorTurn<'_>,
        object: usize,
        text: &mut dyn Write,
    ) -> Result<(), OsError> {
        let (space, gate) = (state.space(), state.fork_gate());
        while gate.without_fork(|| space.sweep_some(Sweeping::Collector)) {}
        gate.without_fork(|| space.finish_sweep());
        let _sweeping = self.sweeping.lock();
        self.look(state, turn, |pause| {
            let births = self.verify().map(Verify::births);
            state.marking_threads().while_marking(|| why_alive(pause, kernel, births, object, text))
        })
    }

    /// Calls `f` with the stopped heap, whose mutators have published what they have.
    fn look<R>(&self, state: &State, turn: &CollectorTurn<'_>, f: impl FnOnce(&Pause<'_>) -> R) -> R {
        let mut times = Times::begin(state.space(), turn.work().last_ended);
        let (nobody, stop) = (ClientPart::of(state, None), |members: &Members<'_, Mutator>| {
            Ok::<_, Infallible>(self.stop(members))
        });
        let Ok(pause) = self.stop_world(state, &mut times, nobody, stop);
        pause.owners().for_each(|owner| owner.publish());
        let result = f(&pause);
        drop(pause.resume(|members| {
            if self.stops_by_signals() {
                self.registry().remove_gone(members);
            }
        }));
        result
    }

    /// Calls `f` with the mapping of each table beside the space.
    pub(crate) fn for_each_table(
        &self,
        state: &State,
        turn: &CollectorTurn<'_>,
        f: &mut dyn FnMut(HeapTable, Range<usize>),
    ) {
        self.registry().for_each_mapping(&mut |mapping| f(HeapTable::Mutators, mapping));
        let tables: [(HeapTable, &dyn Mapped); 11] = [
            (HeapTable::MarkStacks, turn.work()),
            (HeapTable::MarkStacks, state.ephemerons()),
            (HeapTable::Remembered, state.remembered()),
            (HeapTable::MarkingLog, state.marking_log()),
            (HeapTable::Roots, self.roots()),
            (HeapTable::Roots, state.finalizers()),
            (HeapTable::Roots, state.links()),
            (HeapTable::Roots, state.plain()),
            (HeapTable::Checks, self.snapshots()),
            (HeapTable::Checks, &self.verify()),
            (HeapTable::Checks, &state.stores()),
        ];
        for (table, mapped) in tables {
            mapped.for_each_mapping(&mut |mapping| f(table, mapping));
        }
    }
}
