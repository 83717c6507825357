//! Objects that take plain stores (`state/plain`): what lies above their tops is cleared before anything is marked, as Lua's collector
//! clears dead parts of its stacks, and those that are dead are dropped from the table when that is known. Invariant: all that a
//! marker reads of such an object is a slot that counts, or null; so no word of it leads to what an earlier collection has freed.

use super::super::collector::Collector;
use super::super::plan::PauseKind;
use super::clear_weak::is_dead;
use crate::inject::Fault;
use crate::pause::Pause;
use crate::state::clear_words;
use heapwood_heap::{Address, ObjectRef};

impl Collector {
    /// Clears what does not count, and notes that the rest may have been stored into, for verify mode.
    pub(in crate::collect) fn clear_above_tops(&self, pause: &Pause<'_>) {
        let (state, by_signals) = (pause.state(), self.stops_by_signals());
        state.plain().for_each(|begun| {
            // A thread that was stopped between two instructions may have stored a slot, and not its top.
            if !by_signals {
                // SAFETY: the object exists, and takes plain stores; its words above the top are nobody's.
                unsafe { clear_words(begun.object, begun.top.min(begun.words)..begun.words) };
            }
            if let Some(stores) = state.stores() {
                let object = ObjectRef::new(begun.object);
                stores.note(pause.space(), object, Address::new(begun.object), begun.words);
            }
        });
    }

    /// Drops objects that are dead.
    pub(in crate::collect) fn drop_dead_plain(&self, pause: &Pause<'_>, kind: PauseKind) {
        let (state, faults) = (pause.state(), pause.state().faults());
        state.plain().for_each(|begun| {
            if is_dead(pause, kind, begun.object) && !faults.fails(Fault::PlainKept) {
                state.plain().remove(begun.object);
            }
        });
        if let PauseKind::FinalMark(_) = kind {
            state.plain().snapshot().clear();
        }
    }
}
