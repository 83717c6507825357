//! What a heap does when its process forks, so that the child, which has one thread and a copy of the memory, can allocate, collect,
//! start threads and end.
//!
//! Before it forks nobody is in a section (`mutator/section.rs`), no piece of the library's work is under way
//! (`state/fork_gate.rs`), and all locks are held, in one order: registry, roots, handles, stacks, the statistics, what of the
//! remembered set and the logs is shared, the client's, types, programs, span lists, pages. But for those that a collection holds which
//! has stopped threads, or waits for them: while it waits, or marks, it changes nothing that a child needs, and it goes on in the
//! parent as if nothing had been. In the child it is given up. Its marks are forgotten when the next begins; other threads'
//! mutators are emptied and taken off the list when it is next used, so that a child that only calls exec pays for nothing.
//!
//! Invariants: the handlers hold nothing that a child waits for; a child's heap is what it would be if the other threads had been
//! detached and the collection not begun.

use crate::heap::Heap;
use crate::process::{Forks, record};
use crate::state::fork_gate::{REGISTRY, ROOTS};
use heapwood_os::ForkLock;
use heapwood_os::stack::{thread_id, thread_pointer};
use std::thread::yield_now;

impl Heap {
    /// Calls `f` with each lock, in the order in which they are taken, and whether a collection holds it if it holds `held`.
    fn for_each_lock(&self, held: u32, f: &mut dyn FnMut(&dyn ForkLock, bool)) {
        let (collector, state) = (self.collector(), self.state());
        f(self.registry().fork_lock(), held & REGISTRY != 0);
        collector.roots().for_each_lock(&mut |lock| f(lock, held & ROOTS != 0));
        collector.for_each_lock(&mut |lock| f(lock, false));
        state.for_each_lock(&mut |lock| f(lock, false));
        f(self.client_lock(), false);
        self.space().fork_locks(&mut |lock| f(lock, false));
    }
}

impl Forks for Heap {
    fn before_fork(&self) {
        let gate = self.state().fork_gate();
        gate.wait_for_pieces();
        let held = gate.held();
        let mut registry = true;
        self.for_each_lock(held, &mut |lock, is_held| {
            if !is_held {
                // Nobody who holds one waits for this process to have forked.
                lock.hold();
            }
            if core::mem::take(&mut registry) {
                // With the registry's lock the threads of the list are there, and so are their records.
                for mutator in self.registry().attached_list() {
                    while !mutator.is_mine() && mutator.is_in_section() {
                        yield_now();
                    }
                }
            }
        });
    }

    fn after_fork_in_parent(&self) {
        self.for_each_lock(self.state().fork_gate().held(), &mut |lock, is_held| {
            if !is_held {
                // SAFETY: taken by `before_fork`, on this thread.
                unsafe { lock.let_go() };
            }
        });
    }

    fn after_fork_in_child(&self) {
        let (collector, state) = (self.collector(), self.state());
        // A thread that marks and forks, as a trace function might, goes on in the child, and with it the collection.
        if state.is_marking(thread_pointer()) {
            return self.after_fork_in_parent();
        }
        let was_stopped = state.fork_gate().held() & REGISTRY != 0;
        // SAFETY: no other thread is here, this one holds all that it took without guards, and what they guard is whole.
        self.for_each_lock(0, &mut |lock, _| unsafe { lock.free_in_child() });
        // SAFETY: as above; who held these was between two pieces, or is a collection that is given up.
        unsafe { collector.free_in_child(was_stopped) };
        state.fork_gate().forget();
        state.forget_markers();
        self.space().go_on_after_fork();
        // Stores that other threads had not told of are in nobody's hands.
        state.remembered().overflow();
        let mine = record().iter().filter(|m| core::ptr::eq(m.heap(), self));
        mine.for_each(|m| m.is_this_process(thread_id()));
        self.registry().adopt(thread_pointer());
        collector.roots().stacks().lock().forget_threads_but(thread_pointer());
        self.background().forget_thread();
    }
}
