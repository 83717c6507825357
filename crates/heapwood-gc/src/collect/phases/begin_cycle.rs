//! The sides of the mark bits swap after a full marking, every span is unswept, a new budget begins, and the barriers are set
//! for the cycle. Invariant: the thread that is resumed after this allocates and stores by the rules of the new cycle.

use super::super::collector::{Collector, Work};
use super::super::plan::PauseKind;
use super::account::NextCycle;
use crate::pause::Pause;
use crate::state::barrier_bits::{MARK, YOUNG};

impl Collector {
    pub(in crate::collect) fn begin_cycle(
        &self,
        pause: &Pause<'_>,
        work: &Work,
        kind: PauseKind,
        next: &NextCycle,
    ) {
        pause.world().end_marking(kind.collection(), pause.owners(), next.budget, next.goal);
        self.roots().forget_changes();
        let (state, nursery) = (pause.state(), &work.nursery);
        if nursery.remembers() {
            pause.note_frames();
        }
        state.remembered().clear(nursery.most_remembered());
        let mutators = pause.members().iter().count().max(1) as u64;
        state.remembered().allow_stores(nursery.most_stores() / mutators);
        state.set_barrier(YOUNG, nursery.remembers());
        state.set_barrier(MARK, work.session.is_active());
        for mutator in pause.members().iter() {
            mutator.barrier().forget_stores();
            mutator.barrier().begin_cycle();
        }
    }
}
