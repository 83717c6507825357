//! Calls of the program's functions in the middle of a collection. Invariant: during the call its thread is refused in all heaps, and
//! inline allocation of the one that is collected takes the slow path, where it is refused, too.

use super::Mutator;
use super::thread_record::ThreadRecord;
use crate::state::State;
use heapwood_heap::Owner;

impl ThreadRecord<Mutator> {
    /// Calls the program on the thread that collects, which is stopped in all its heaps.
    pub(crate) fn call_program(&self, state: &State, f: impl FnOnce()) {
        let mine =
            || self.iter().find(|mutator| core::ptr::eq(mutator.shared(), state)).map(|mine| mine.owned());
        mine().inspect(Owner::close_buffers);
        self.in_hook(f);
        mine().inspect(Owner::open_buffers);
    }
}
