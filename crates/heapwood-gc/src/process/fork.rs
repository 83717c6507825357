//! A heap's part in a fork, so that the child, which has one thread and a copy of the memory, can allocate, collect,
//! start threads and end.
//!
//! Before the fork no thread is in a no-preempt region (`mutator/no_preempt.rs`), no slice of the library's work is
//! active (`state/fork_gate.rs`), and the forking thread holds all locks, in their order (`lock_order.rs`). It does not take the
//! locks of a collection that has stopped threads, or waits for them: while the collection waits or marks, it changes
//! nothing that a child needs, and it goes on in the parent undisturbed. The child abandons it. The next collection
//! clears its marks. The child flushes other threads' mutators and removes them from the list when the list is next
//! used, so a child that only calls exec pays nothing.
//!
//! Each wait is bounded (`process/mod.rs`). A failed attempt releases its locks before any slice can begin, because a slice
//! could change the set of locks that the collection holds.
//!
//! Invariants: the handlers hold nothing that a child waits for; a child's heap is as if the other threads had been
//! detached and the collection not begun.

use crate::error::Refusal;
use crate::heap::Heap;
use crate::lock_order::{ARENA_LOG, HELD_BY_FORK, SITES, STORE_LOG, WEAK_KEYS};
use crate::process::{Forks, Patience, record};
use crate::state::barrier_bits::MARK;
use crate::state::fork_gate::{REGISTRY, ROOTS};
use heapwood_heap::Address;
use heapwood_os::ForkLock;
use heapwood_os::diagnose::message::report;
use heapwood_os::threads::lock_order;
use heapwood_os::threads::stack::{thread_id, thread_pointer};

impl Heap {
    /// Calls `f` with each lock, in lock order, and whether the collection with the locks `held` holds it.
    fn for_each_lock(&self, held: u32, f: &mut dyn FnMut(&dyn ForkLock, bool)) {
        let (collector, state) = (self.collector(), self.state());
        f(self.collector().registry().fork_lock(), held & REGISTRY != 0);
        collector.roots().for_each_lock(&mut |lock| f(lock, held & ROOTS != 0));
        f(state.finalizers().fork_lock(), false);
        collector.for_each_lock(&mut |lock| f(lock, false));
        state.for_each_lock(&mut |lock| f(lock, false));
        f(self.client_lock(), false);
        if let Some(log) = self.arena_log() {
            f(log.fork_lock(), false);
        }
        self.space().fork_locks(&mut |lock| f(lock, false));
    }

    /// Checks that [`for_each_lock`](Self::for_each_lock) calls its function with each lock that a fork holds, in lock order.
    fn check_fork_locks(&self) {
        let (mut ranks, mut last) = (0, 0);
        self.for_each_lock(0, &mut |lock, _| {
            assert!(
                lock.rank() > last,
                "a fork takes the lock of rank {} after that of rank {last}",
                lock.rank()
            );
            last = lock.rank();
            ranks |= lock_order::set_of(&[last]);
        });
        let optional = lock_order::set_of(&[ARENA_LOG, STORE_LOG, WEAK_KEYS, SITES]);
        assert_eq!(
            ranks | optional,
            HELD_BY_FORK,
            "a fork misses a lock, or holds one that lock_order.rs does not name"
        );
    }

    /// Releases those of the first `count` locks that this thread took while a collection held `held`.
    fn let_go(&self, held: u32, count: usize) {
        let mut number = 0;
        self.for_each_lock(held, &mut |lock, is_held| {
            if number < count && !is_held {
                // SAFETY: taken by `before_fork`, on this thread.
                unsafe { lock.let_go() };
            }
            number += 1;
        });
    }
}

impl Forks for Heap {
    fn explain_fault(&self, address: usize) -> bool {
        let address = Address::new(address);
        let Some(place) = self.space().arenas().find(address).filter(|place| !place.is_there) else {
            return false;
        };
        let arena = place.arena;
        report(format_args!(
            "heapwood: verify: {address:#x} is used, which was a value of arena {arena}: the arena has been closed or emptied"
        ));
        if let Some(log) = self.arena_log() {
            log.report_end(arena);
        }
        true
    }

    fn arena_handle_error(&self, handle: usize) -> Option<Refusal> {
        Heap::arena_handle_error(self, handle)
    }

    fn before_fork(&self, patience: &Patience) -> bool {
        if cfg!(debug_assertions) {
            self.check_fork_locks();
        }
        let gate = self.state().fork_gate();
        if !patience.waits_until(|| !gate.has_slices()) {
            return false;
        }
        let (held, mut passed, mut whole) = (gate.held(), 0, true);
        self.for_each_lock(held, &mut |lock, is_held| {
            whole = whole && (is_held || patience.waits_until(|| lock.try_hold()));
            passed += usize::from(whole);
            if whole && passed == 1 {
                // The registry's lock keeps the threads of the list, and so their records.
                let mut others = self.collector().registry().attached_list().filter(|m| !m.is_mine());
                whole = others.all(|m| patience.waits_until(|| !m.is_in_no_preempt()));
            }
        });
        if !whole {
            self.let_go(held, passed);
        }
        whole
    }

    fn after_fork_in_parent(&self) {
        self.let_go(self.state().fork_gate().held(), usize::MAX);
    }

    fn after_fork_in_child(&self) {
        let (collector, state) = (self.collector(), self.state());
        // A thread that marks and forks, as a trace function might, goes on in the child, and so does the collection.
        if state.marking_threads().is_marking(thread_pointer()) {
            return self.after_fork_in_parent();
        }
        let was_stopped = state.fork_gate().held() & REGISTRY != 0;
        // SAFETY: no other thread exists, this one holds without guards all that it took, and the guarded data are
        // whole.
        self.for_each_lock(0, &mut |lock, _| unsafe { lock.free_in_child() });
        // SAFETY: as above; the holder of these was between two slices, or is an abandoned collection.
        unsafe { collector.free_in_child(was_stopped) };
        state.fork_gate().forget();
        state.marking_threads().forget_markers();
        self.space().resume_after_fork();
        // Other threads' unreported stores are lost.
        state.remembered().overflow();
        let mine = record().iter().filter(|m| core::ptr::eq(m.heap(), self));
        mine.for_each(|m| m.enter_child(thread_id()));
        self.collector().registry().adopt(thread_pointer());
        let mine = record().iter().filter(|m| core::ptr::eq(m.heap(), self));
        state.finalizers().leave_calls_of_others(mine.flat_map(|m| m.finalizer_calls().queues()));
        collector.roots().stacks().lock().forget_threads_but(thread_pointer());
        self.background().forget_thread();
        self.marker().forget_thread();
        state.posted().forget();
        state.pace_waiters().forget();
        state.marking_requests().forget_thread();
        state.full_collections().resume_in_child(state.cycles());
        if state.full_collections().is_owed() {
            // The parent's marker may have taken the request.
            state.marking_requests().ask();
        }
        if state.barrier() & MARK != 0 {
            // A marking goes on, between two slices of which the process forked.
            state.marking_requests().go_on();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::HeapBox;
    use crate::process::forking;
    use crate::roots::{ClientRoots, CollectionPhases};
    use crate::settings::options::{Concurrent, Config, Stop};
    use core::sync::atomic::{AtomicBool, Ordering};
    use core::time::Duration;
    use heapwood_layout::{TraceContext, TypeDescriptor};
    use heapwood_os::SYSTEM;
    use heapwood_os::process::loaded::with_lock;
    use heapwood_os::threads::futex;
    use std::sync::Mutex;

    const CONFIG: Config = Config::DEFAULT.huge_pages(false).address_space(64 << 20);

    /// A fork waits for the regions and locks of other tests, too: so one at a time.
    static TURN: Mutex<()> = Mutex::new(());

    /// Forks a child that exits with the result of `f`; returns its exit status.
    fn in_child(f: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child uses heaps, which it may, and exits without the test harness's cleanup. A child that hangs
        // is killed.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::alarm(60);
                libc::_exit(f());
            }
            let mut ended = 0;
            assert_eq!(libc::waitpid(child, &mut ended, 0), child);
            if libc::WIFEXITED(ended) { libc::WEXITSTATUS(ended) } else { -ended }
        }
    }

    /// Forks while another thread is inside something, in each of two heaps, for longer than several attempts take. The
    /// forking thread waits, and holds nothing afterwards, in either heap: no lock of the last attempt, and none of the
    /// failed ones.
    fn a_child_finds_nobody_inside(of: impl Fn(&Heap, &dyn Fn()) + Sync) {
        let _turn = TURN.lock();
        let heaps: [HeapBox; 2] = core::array::from_fn(|_| Heap::create(&SYSTEM, CONFIG).unwrap());
        let work = || heaps.iter().all(|heap| heap.collect().is_ok());
        for heap in &heaps {
            let (began, inside) = (AtomicBool::new(false), AtomicBool::new(false));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let _attached = crate::Mutator::attach(heap, None).unwrap();
                    of(heap, &|| {
                        inside.store(true, Ordering::SeqCst);
                        began.store(true, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(40));
                        inside.store(false, Ordering::SeqCst);
                    });
                });
                while !began.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                let ended = in_child(|| match inside.load(Ordering::SeqCst) {
                    true => 1,
                    false if heap.mutators() != 0 => 2,
                    false if !work() => 3,
                    false => 7,
                });
                assert_eq!(ended, 7, "1: forked while a thread was inside; 2: the child has its mutator");
            });
            assert!(work());
        }
    }

    #[test]
    fn a_fork_holds_each_lock_of_the_list_in_its_order() {
        for verify in [false, true] {
            Heap::create(&SYSTEM, CONFIG.verify(verify)).unwrap().check_fork_locks();
        }
    }

    #[test]
    fn a_fork_waits_for_no_preempt_regions() {
        a_child_finds_nobody_inside(|_, stay| {
            let _no_preempt = record().no_preempt();
            stay();
        });
    }

    #[test]
    fn a_fork_waits_for_slices_of_work() {
        a_child_finds_nobody_inside(|heap, stay| {
            let _no_fork = heap.state().fork_gate().no_fork();
            stay();
        });
    }

    #[test]
    fn a_fork_waits_for_locks() {
        a_child_finds_nobody_inside(|heap, stay| {
            let _first = heap.collector().registry().lock();
            stay();
        });
        a_child_finds_nobody_inside(|heap, stay| {
            let _one = heap.collector().roots().stacks().lock();
            stay();
        });
        a_child_finds_nobody_inside(|heap, stay| {
            let _late = heap.client_lock().lock();
            stay();
        });
    }

    /// A marker that wants to start a marking waits for the very thread that forks to stop. The child has the marking's session
    /// but no snapshot: its own collections collect everything.
    #[test]
    fn a_child_forgets_a_marking_that_was_about_to_start() {
        let _turn = TURN.lock();
        let config =
            CONFIG.concurrent(Concurrent::On).max_pause(0).conservative_stacks(false).min_heap(32 << 20);
        let heap = Heap::create(&SYSTEM, config.idle_collection(false)).unwrap();
        let mutator = crate::Mutator::attach(&heap, None).unwrap();
        let ty = heap.types().register(&TypeDescriptor::masked(64, &[1]).unwrap()).unwrap();
        for round in 0..3 {
            (0..100).for_each(|_| _ = mutator.allocate(ty).unwrap());
            assert!(heap.ask_marker());
            while !mutator.is_asked_to_stop() {
                std::thread::yield_now();
            }
            let full = |heap: &Heap| heap.state().cycles().full_collections();
            let before = full(&heap);
            let ended = in_child(|| {
                mutator.collect().unwrap();
                match (full(&heap) - before, heap.inspect().stats().live_objects) {
                    (0, _) => 1,
                    (_, 0) => 7,
                    _ => 2,
                }
            });
            assert_eq!(ended, 7, "1: no full collection; 2: something is left ({round})");
            let collections = heap.state().full_collections();
            mutator.blocking(|| collections.sleep_until_ended(before + 1, || false)).unwrap();
        }
    }

    /// A client that has the process fork, for all that the heap knows, between the beginning of a collection and its stop.
    struct ForksMeanwhile;

    // SAFETY: it names no roots and takes no lock.
    unsafe impl CollectionPhases for ForksMeanwhile {
        fn before(&self) {
            forking().store(1, Ordering::SeqCst);
        }

        fn roots(&self, _: &mut ClientRoots<'_>) {}
    }

    /// A collector that waits until the process has forked must not have the loader's lock, which the child would find taken.
    #[test]
    fn a_collector_that_waits_for_a_fork_leaves_the_loaders_lock_alone() {
        let _turn = TURN.lock();
        let heap = Heap::create(&SYSTEM, CONFIG.library_roots(true).background_release(false)).unwrap();
        heap.set_phases(Some(&ForksMeanwhile)).unwrap();
        // In a child of its own, which is killed if it waits for that lock.
        let ended = in_child(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| heap.collect().unwrap());
                while forking().load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                // The collector has time to come to the lock.
                for _ in 0..10_000 {
                    with_lock(|| ());
                    std::thread::yield_now();
                }
                forking().store(0, Ordering::SeqCst);
                futex::wake(forking(), i32::MAX);
            });
            7
        });
        assert_eq!(ended, 7);
    }

    /// A trace function waits, if `WAITS`, until the process forks, and sets `MARKS` when it is called.
    static WAITS: AtomicBool = AtomicBool::new(false);
    static MARKS: AtomicBool = AtomicBool::new(false);

    unsafe extern "C" fn trace_until_forking(_: *mut u8, _: usize, _: *mut TraceContext) {
        MARKS.store(true, Ordering::SeqCst);
        while WAITS.load(Ordering::SeqCst) && forking().load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }

    /// A signal of one heap has stopped a thread that holds a lock of another, and the collection cannot end before the
    /// fork, or its first attempt, is over.
    #[test]
    fn a_fork_lets_threads_go_on_that_wait_for_it() {
        let _turn = TURN.lock();
        let [locked, stops] =
            [Stop::Polls, Stop::Signals].map(|stop| Heap::create(&SYSTEM, CONFIG.stop(stop)).unwrap());
        let attach = |heap| crate::Mutator::attach(heap, None).unwrap();
        let opaque =
            stops.types().register(&TypeDescriptor::traced(16, trace_until_forking).unwrap()).unwrap();
        let object = attach(&stops).allocate(opaque).unwrap();
        // SAFETY: the object exists: nothing has been collected.
        let handle = unsafe { stops.roots().new_handle(object.as_ptr().into()) }.unwrap();
        let (is_held, has_collected) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait_for = |flag: &AtomicBool| {
            while !flag.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        };
        WAITS.store(true, Ordering::SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _both = [&locked, &stops].map(|heap| attach(heap));
                let _lock = locked.collector().roots().handles().lock();
                is_held.store(true, Ordering::SeqCst);
                wait_for(&has_collected);
            });
            wait_for(&is_held);
            scope.spawn(|| {
                stops.collect().unwrap();
                has_collected.store(true, Ordering::SeqCst);
            });
            wait_for(&MARKS);
            let went_well = in_child(|| if has_collected.load(Ordering::SeqCst) { 7 } else { 1 });
            WAITS.store(false, Ordering::SeqCst);
            assert_eq!(went_well, 7, "1: forked while the lock was held");
        });
        stops.roots().free_handle(handle);
    }
}
