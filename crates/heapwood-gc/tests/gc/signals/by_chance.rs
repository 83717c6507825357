//! Threads that allocate, free, block and come and go are stopped wherever signals happen to find them, while timers of the program's
//! interrupt them, too. Told is at how many different instructions they were stopped, and how many signals came in sections.
//! (`single_step` visits all instructions, but in one thread's ordinary course only.)

use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::{Heap, Interruption, ObjectType};
use heapwood_gc_testing::*;
use heapwood_heap::Address;
use std::collections::HashSet;

const THREADS: usize = 3;
/// Lines about signals that are remembered until they are read, after each collection.
const LINES: usize = 1 << 12;

static TICKS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn tick(_: i32) {
    TICKS.fetch_add(1, Ordering::Relaxed);
}

/// A timer that interrupts the thread that has it, ten thousand times a second.
struct Timer(libc::timer_t);

impl Timer {
    fn start() -> Self {
        let every = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
        // SAFETY: the handler adds to a word; the event and the timer are the calls' to read and to write.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = tick as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGPROF, &action, core::ptr::null_mut()), 0);
            let mut event: libc::sigevent = core::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGPROF;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = core::mem::zeroed();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer), 0);
            let times = libc::itimerspec { it_interval: every, it_value: every };
            assert_eq!(libc::timer_settime(timer, 0, &times, core::ptr::null_mut()), 0);
            Timer(timer)
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: it was made above.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Makes `n` objects in short lists, whose heads are in this function's variables alone.
fn work(heap: &Heap, kinds: &[ObjectType], seed: usize, n: usize, all_made: &AtomicUsize) {
    let mut made = 0;
    while made < n {
        let mutator = attach(heap);
        for round in 0..50 {
            let kind = kinds[(seed + round) % kinds.len()];
            let length = if kind.size() > 4096 { 3 } else { 40 };
            let (mut head, first) = (0, made);
            let held = handle(heap, 0).unwrap();
            for i in 0..length {
                let object = new(&mutator, kind);
                link(&mutator, object, 0, head);
                put(object, 2, first + i);
                head = object;
                all_made.fetch_add(1, Ordering::Relaxed);
                // SAFETY: the handle is held, and the object exists.
                unsafe { heap.roots().set_handle(held, Address::new(object)) };
                if i % 8 == 7 {
                    let dropped = new(&mutator, kind);
                    free(&mutator, dropped);
                }
            }
            mutator.safepoint();
            if round % 10 == 0 {
                mutator.blocking(std::thread::yield_now).unwrap();
            }
            check_list(head, length, first);
            assert!(heap.roots().free_handle(held));
            made += length;
        }
    }
}

fn by_chance(config: heapwood_gc::Config, n: usize) {
    let heap = heap(config);
    let ring: &'static [AtomicUsize] = Vec::leak((0..LINES).map(|_| AtomicUsize::new(0)).collect());
    heap.inspect().log_interruptions(ring);
    let kinds =
        [node_type(&heap), masked(&heap, 7, &[0, 5]), masked(&heap, 200, &[0]), masked(&heap, 5000, &[0])];
    let (working, made) = (AtomicUsize::new(THREADS), AtomicUsize::new(0));
    let (mut rng, mut next) = (Rng::new(1), 0);
    let (mut stopped, mut in_sections) = (HashSet::new(), HashSet::new());
    let (mut stops, mut deferred, mut collections, mut read) = (0, 0, 0, 0);
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let (heap, kinds, working, made) = (&heap, &kinds, &working, &made);
            scope.spawn(move || {
                let _timer = Timer::start();
                work(heap, kinds, seed, n / THREADS, made);
                working.fetch_sub(1, Ordering::Release);
            });
        }
        while working.load(Ordering::Acquire) > 0 {
            // Now and then, or those that attach would never come to it.
            if made.load(Ordering::Relaxed) < next {
                core::hint::spin_loop();
                continue;
            }
            next = made.load(Ordering::Relaxed) + rng.below(128);
            heap.collect().unwrap();
            collections += 1;
            let until = heap.inspect().interruptions();
            for line in read.max(until.saturating_sub(LINES))..until {
                match Interruption::of_word(ring[line % LINES].load(Ordering::Acquire)) {
                    Some((at, Interruption::Stopped)) => {
                        stopped.insert(at);
                        stops += 1;
                    }
                    Some((at, Interruption::InNoPreempt)) => {
                        in_sections.insert(at);
                        deferred += 1;
                    }
                    _ => {}
                }
            }
            read = until;
        }
    });
    println!(
        "{n} objects, {collections} collections, {} ticks: {stops} stops at {} instructions, {deferred} in sections at {}",
        TICKS.load(Ordering::Relaxed),
        stopped.len(),
        in_sections.len()
    );
    assert!(stops > 0);
    assert_valid(&heap);
}

#[test]
#[ignore = "of the long suite: wherever signals happen to find them"]
fn threads_are_stopped_wherever_they_are() {
    in_child(|| {
        let times = if is_long() { 20 } else { 1 };
        by_chance(BY_SIGNALS, 2_000_000 * times);
        by_chance(BY_SIGNALS.verify(true).mark_stack(16), 300_000 * times);
    });
}
