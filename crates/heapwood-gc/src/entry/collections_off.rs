//! Collections off: a count that any thread may change at any time. While it is not 0 no collection begins, whatever asks for
//! one: the budget is suspended, so that allocation goes on, and what allocation, the heap's own threads or the program want is
//! refused. Invariant: when a thread has switched them off, none is under way. libgc's GC_disable nests in the same way.

use crate::error::Misuse;
use crate::heap::Heap;
use crate::mutator::{Mutator, ThreadState};
use crate::process::record;
use heapwood_os::threads::stack::thread_pointer;

impl Heap {
    /// Switches collections off, until [`enable_collections`](Heap::enable_collections) has been called as often; returns how often
    /// they are off now. Waits for a collection that is under way, and ends one that marks beside the program. In a hook or a
    /// trace function, in the middle of a collection, it does not wait: then that one ends later.
    ///
    /// Allocation then goes on up to the heap's limit or the end of its room, and fails there.
    ///
    /// # Errors
    /// The thread is attached and runs on a stack that the heap does not know, so that it cannot wait for a collection.
    /// Collections are off nevertheless.
    pub fn disable_collections(&self) -> Result<u32, Misuse> {
        let count = {
            let _no_preempt = record().no_preempt();
            self.space().switch_collections_off()
        };
        let (marking, here) = (self.state().marking_threads(), thread_pointer());
        if record().is_in_hook() || marking.is_marking(here) || marking.is_helping(here) {
            return Ok(count);
        }
        let end = || self.collector().end_collections(self.state());
        match Mutator::here(self) {
            // SAFETY: it is this thread's, and stays attached during the call.
            Some(mutator) => unsafe { mutator.as_ref() }.away(ThreadState::AtSafepoint, end)?,
            None => record().elsewhere(None, |_| end()),
        }
        Ok(count)
    }

    /// Takes that back once; returns how often collections are still off. What was allocated meanwhile counts, so the next
    /// allocation may collect.
    ///
    /// # Errors
    /// They are on.
    pub fn enable_collections(&self) -> Result<u32, Misuse> {
        let count = {
            let _no_preempt = record().no_preempt();
            self.space().switch_collections_on().ok_or(Misuse::CollectionsOn)?
        };
        if count == 0 {
            let state = self.state();
            if state.full_collections().is_owed() {
                // The program had asked for it before.
                state.marking_requests().ask();
            }
            // The heap's own thread looks again whether the heap is idle.
            state.wakeup().collected();
        }
        Ok(count)
    }

    /// How often collections are off.
    pub fn collections_off(&self) -> u32 {
        self.space().collections_off()
    }
}
