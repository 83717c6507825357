//! A day of the worker: heaps of real objects, under a clock that the test moves, without a thread. What it does is seen in
//! the counters.

use super::background_loop::BackgroundLoop;
use super::figures::Figures;
use super::idle_collector::IdleCollector;
use crate::entry::attach::Attached;
use crate::heap::{Heap, HeapBox};
use crate::mutator::Mutator;
use crate::observe::Stats;
use crate::settings::options::{Concurrent, Config, Generational};
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_heap::{ArenaHeader, ArenaKind};
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;
use heapwood_os::threads::stack::thread_id;
use heapwood_pages::Clock;
use std::sync::mpsc::channel;

const MIB: usize = 1 << 20;
const SECOND: Duration = Duration::from_secs(1);

/// A clock on which work takes a little.
#[derive(Default)]
struct Stub {
    now: Cell<Duration>,
    cpu: Cell<Duration>,
}

impl Clock for Stub {
    fn cpu(&self) -> Duration {
        self.cpu.set(self.cpu.get() + Duration::from_micros(200));
        self.cpu.get()
    }

    fn now(&self) -> Duration {
        self.now.get()
    }

    fn sleep(&self, at_most: Duration) {
        self.now.set(self.now.get() + at_most);
    }
}

/// A heap in which no collection is due.
fn heap_that_collects_when_asked() -> HeapBox {
    let config = Config::DEFAULT.conservative_stacks(false).huge_pages(false).address_space(4 << 30);
    Heap::create(&SYSTEM, config.background_release(false).min_heap(64 * MIB).generational(Generational::Off))
        .unwrap()
}

/// A heap without a thread, and what its thread would do.
struct Day<'h> {
    heap: &'h Heap,
    worker: BackgroundLoop<'h>,
    clock: Stub,
    figures: &'h Figures,
    /// Steps so far.
    steps: usize,
}

fn quiet_heap() -> HeapBox {
    let config = Config::DEFAULT.conservative_stacks(false).huge_pages(false).address_space(4 << 30);
    Heap::create(&SYSTEM, config.background_release(false)).unwrap()
}

impl<'h> Day<'h> {
    fn new(heap: &'h Heap, figures: &'h Figures) -> Self {
        let clock = Stub::default();
        clock.now.set(SECOND * 5000);
        let idle = IdleCollector::new(clock.now(), heap.marker());
        let worker = BackgroundLoop::new(heap.state(), heap.collector(), figures, Some(idle));
        Day { heap, worker, clock, figures, steps: 0 }
    }

    /// Lets so much time pass, or less if the worker sleeps without a timer before; whether it does.
    fn pass(&mut self, time: Duration) -> bool {
        let end = self.clock.now() + time;
        let mut wakeup = self.heap.state().wakeup().look();
        loop {
            self.steps += 1;
            let wait = self.worker.step(&self.clock);
            let now = self.heap.state().wakeup().look();
            if now != wakeup {
                wakeup = now;
                continue;
            }
            let Some(wait) = wait else { return true };
            self.clock.sleep(wait.min(end.saturating_sub(self.clock.now())));
            if self.clock.now() >= end {
                return false;
            }
        }
    }

    fn stats(&self) -> Stats {
        let mut stats = self.heap.inspect().stats();
        self.figures.add_to_stats(&mut stats);
        stats
    }
}

fn node(heap: &Heap) -> crate::heap::object_type::ObjectType {
    heap.types().register(&TypeDescriptor::masked(64, &[1]).unwrap()).unwrap()
}

/// Allocates N bytes of objects that nothing leads to.
fn allocate(mutator: &Attached<'_>, bytes: usize) {
    let ty = node(mutator.heap());
    (0..bytes / 64).for_each(|_| {
        mutator.allocate(ty).unwrap();
    });
}

/// A heap that was large and whose threads are blocked: after ten seconds its garbage is found and goes back to the kernel,
/// and the thread sleeps without a timer.
#[test]
fn what_a_program_dropped_goes_back_while_it_sleeps() {
    let (heap, figures) = (quiet_heap(), Figures::default());
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    // A list of 96 MiB, which the last collection of the program's own finds alive.
    let (ty, mut root) = (node(&heap), Box::new(0usize));
    // SAFETY: the box holds null or an object, and outlives the heap's collections.
    let token = unsafe { heap.roots().add_slots(&raw const *root, 1) }.unwrap();
    for _ in 0..96 * MIB / 64 {
        let object = mutator.allocate(ty).unwrap().as_ptr().cast::<usize>();
        // SAFETY: a new object of eight words.
        unsafe { object.write(*root) };
        // SAFETY: a word of the box; volatile, since the collector reads it.
        unsafe { (&raw mut *root).write_volatile(object as usize) };
    }
    mutator.collect().unwrap();
    // SAFETY: as above.
    unsafe { (&raw mut *root).write_volatile(0) };
    let before = day.stats();
    assert!(before.live_bytes >= 96 * MIB && before.backed_bytes >= 96 * MIB, "{before:?}");
    mutator
        .blocking(|| {
            assert!(!day.pass(SECOND * 9), "it waits for the tenth second");
            assert_eq!(day.stats().collections, before.collections);
            assert!(day.pass(SECOND * 40), "it has nothing to do any more");
            let after = day.stats();
            assert_eq!((after.idle_collections, after.idle_withdrawn), (1, 0), "{after:?}");
            assert!(after.live_bytes < MIB && after.backed_bytes <= 36 * MIB, "{after:?}");
            // Nothing wakes it, and if it is woken it does nothing.
            let steps = day.steps;
            assert!(day.pass(SECOND * 1000));
            assert_eq!((day.steps, day.stats().collections), (steps + 1, after.collections));
        })
        .unwrap();
    // Little work in between is not worth a collection, much is.
    allocate(&mutator, 64 << 10);
    mutator.blocking(|| assert!(day.pass(SECOND * 1000))).unwrap();
    assert_eq!(day.stats().idle_collections, 1);
    allocate(&mutator, 2 * MIB);
    mutator.blocking(|| assert!(day.pass(SECOND * 1000))).unwrap();
    assert_eq!(day.stats().idle_collections, 2);
    assert!(heap.roots().remove(token));
    drop(mutator);
}

/// The same with a marker: this thread only begins the marking, and the policy hears of its end. Nothing is collected twice.
#[test]
fn an_idle_heap_is_marked_beside_the_program_once() {
    let config = Config::DEFAULT.conservative_stacks(false).huge_pages(false).address_space(4 << 30);
    let config = config.concurrent(Concurrent::Always).idle_collection(false).min_heap(256 * MIB);
    let (heap, figures) = (Heap::create(&SYSTEM, config).unwrap(), Figures::default());
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    let counts = |day: &Day<'_>| {
        let stats = day.stats();
        let full = stats.collections - stats.young_collections;
        (stats.idle_collections, stats.concurrent_markings, full, stats.idle_withdrawn)
    };
    // The simulated time stands while the marker works. A marker that still holds the collector's lock, from the marking before,
    // makes a day pass in which every try finds that somebody else collects.
    let sleep = |day: &mut Day<'_>, markings: u64| {
        let began = std::time::Instant::now();
        while day.stats().concurrent_markings < markings {
            day.pass(SECOND * 1000);
            assert!(began.elapsed() < SECOND * 60, "the marking does not end: {:?}", day.stats());
            std::thread::yield_now();
        }
        assert!(day.pass(SECOND * 1000), "it has nothing to do any more");
    };
    // So much is alive that a program which has collected it itself is collected again when it is idle.
    let (ty, mut kept) = (node(&heap), vec![0usize; 2 * MIB / 64].into_boxed_slice());
    // SAFETY: the box holds nulls or objects, and outlives the heap's collections.
    let token = unsafe { heap.roots().add_slots(kept.as_ptr(), kept.len()) }.unwrap();
    for slot in &mut kept {
        let object = mutator.allocate(ty).unwrap().as_ptr() as usize;
        // SAFETY: a word of the box; volatile, since the collector reads it.
        unsafe { (&raw mut *slot).write_volatile(object) };
    }
    for number in 1..4 {
        mutator.blocking(|| sleep(&mut day, number)).unwrap();
        assert_eq!(counts(&day), (number, number, number, 0));
        assert_eq!(day.stats().live_bytes, 2 * MIB);
        // Little work in between is not worth a collection, much is.
        allocate(&mutator, 64 << 10);
        mutator.blocking(|| sleep(&mut day, number)).unwrap();
        assert_eq!(counts(&day), (number, number, number, 0));
        allocate(&mutator, 2 * MIB);
    }
    assert!(heap.roots().remove(token));
    // The rest of a marking that somebody else has ended is nothing.
    let seen = day.stats().collections;
    mutator.blocking(|| heap.collector().mark_concurrently(heap.state(), false)).unwrap();
    assert_eq!(day.stats().collections, seen);
}

/// A thread that runs keeps an idle heap from being collected, and is named; when it blocks, the next try succeeds.
#[test]
fn a_thread_that_runs_is_named() {
    let (heap, figures) = (quiet_heap(), Figures::default());
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    allocate(&mutator, 40 * MIB);
    mutator.collect().unwrap();
    allocate(&mutator, 8 * MIB);
    let before = day.stats().collections;
    let (number, tells) = channel();
    let (asks, asked) = channel::<()>();
    std::thread::scope(|scope| {
        // Dropped with a panic, so that the thread does not wait for good.
        let (heap, asks) = (&heap, asks);
        let runs = scope.spawn(move || {
            let mutator = Mutator::attach(heap, None).unwrap();
            number.send(thread_id()).unwrap();
            // Runs, as far as the heap knows.
            asked.recv().unwrap();
            mutator.blocking(|| number.send(0).unwrap()).unwrap();
        });
        let theirs = tells.recv().unwrap();
        mutator
            .blocking(|| {
                assert!(day.pass(SECOND * 1000), "it waits until it is told");
                let stats = day.stats();
                assert_eq!((stats.idle_withdrawn, stats.idle_withdrawn_thread), (1, theirs));
                assert_eq!((stats.idle_collections, stats.collections), (0, before));
                let steps = day.steps;
                assert!(day.pass(SECOND * 1000), "and tries once whenever something wakes it");
                assert_eq!((day.stats().idle_withdrawn, day.stats().collections), (2, before));
                assert!(day.steps < steps + 10);
            })
            .unwrap();
        asks.send(()).unwrap();
        assert_eq!(tells.recv(), Ok(0));
        runs.join().unwrap();
        mutator.blocking(|| assert!(day.pass(SECOND * 1000))).unwrap();
    });
    let stats = day.stats();
    assert_eq!((stats.idle_withdrawn, stats.idle_collections), (2, 1));
}

/// A thread that allocates a MiB a second or more is not idle, however long nothing is collected.
#[test]
fn a_heap_that_is_busy_is_left_alone() {
    let (heap, figures) = (heap_that_collects_when_asked(), Figures::default());
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    for second in 0..25 {
        allocate(&mutator, 5 * MIB / 4);
        mutator.blocking(|| day.pass(SECOND)).unwrap();
        assert_eq!(day.stats().collections, 0, "second {second}");
    }
    // Then it stops.
    mutator.blocking(|| assert!(day.pass(SECOND * 1000))).unwrap();
    assert_eq!((day.stats().collections, day.stats().idle_collections), (1, 1));
}

/// Young collections say nothing of what is old: what was allocated since the last full one counts, and after an idle one a
/// little work is as little as it was, though it was collected.
#[test]
fn young_collections_are_not_what_an_idle_heap_needs() {
    let config = Config::DEFAULT.conservative_stacks(false).huge_pages(false).address_space(4 << 30);
    let config = config.background_release(false).generational(Generational::Always);
    let (heap, figures) = (Heap::create(&SYSTEM, config).unwrap(), Figures::default());
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    let (ty, mut kept) = (node(&heap), vec![0usize; 32 * MIB / 64].into_boxed_slice());
    // SAFETY: the box holds nulls or objects, and outlives the heap's collections.
    let token = unsafe { heap.roots().add_slots(kept.as_ptr(), kept.len()) }.unwrap();
    for slot in &mut kept {
        let object = mutator.allocate(ty).unwrap().as_ptr() as usize;
        // SAFETY: a word of the box; volatile, since the collector reads it.
        unsafe { (&raw mut *slot).write_volatile(object) };
    }
    mutator.blocking(|| assert!(day.pass(SECOND * 1000))).unwrap();
    let idle = |day: &Day<'_>| (day.stats().idle_collections, day.stats().live_bytes);
    assert_eq!(idle(&day), (1, 32 * MIB));
    // All dies, which young collections do not see.
    for slot in &mut kept {
        // SAFETY: as above.
        unsafe { (&raw mut *slot).write_volatile(0) };
    }
    let young = |mib: usize| {
        let before = heap.inspect().stats().young_collections;
        for _ in 0..mib {
            allocate(&mutator, MIB);
            mutator.collect_young().unwrap();
        }
        let stats = heap.inspect().stats();
        assert_eq!(stats.young_collections, before + mib as u64);
        assert!(stats.live_bytes >= 32 * MIB, "{stats:?}");
    };
    // An eighth of 32 MiB is worth a collection, however often the young were collected.
    young(3);
    mutator.blocking(|| assert!(day.pass(SECOND * 1000))).unwrap();
    assert_eq!(day.stats().idle_collections, 1);
    young(2);
    mutator.blocking(|| assert!(day.pass(SECOND * 1000))).unwrap();
    assert!(idle(&day) < (3, 0) && idle(&day) >= (2, 0) && idle(&day).1 < MIB, "{:?}", day.stats());
    assert!(heap.roots().remove(token));
    drop(mutator);
}

/// Threads that have been blocked for two looks have nothing cached any more, and the looks end; those that come and go
/// are left alone.
#[test]
fn blocked_threads_are_emptied_once() {
    let (heap, figures) = (quiet_heap(), Figures::default());
    let mut day = Day::new(&heap, &figures);
    let holds = |m: &Mutator| m.owned().holds_something();
    let mutator = Mutator::attach(&heap, None).unwrap();
    allocate(&mutator, 1000);
    for _ in 0..5 {
        mutator.blocking(|| assert!(!day.pass(Duration::from_millis(390)))).unwrap();
        assert!(holds(&mutator));
    }
    let (looked, steps) = (AtomicUsize::new(0), AtomicBool::new(false));
    mutator
        .blocking(|| {
            assert!(day.pass(SECOND));
            assert!(!holds(&mutator));
            looked.store(day.steps, Ordering::Relaxed);
            day.pass(SECOND * 10);
            steps.store(day.steps <= looked.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        })
        .unwrap();
    assert!(steps.load(Ordering::Relaxed), "it looks no more");
    // A thread that holds nothing does not even wake it.
    let wakeup = heap.state().wakeup().look();
    mutator.blocking(|| ()).unwrap();
    assert_eq!(heap.state().wakeup().look(), wakeup);
    allocate(&mutator, 1000);
    mutator.blocking(|| ()).unwrap();
    assert_ne!(heap.state().wakeup().look(), wakeup, "one that does is heard");
    assert!(holds(&mutator));
}

/// What a collection leaves is swept without anybody allocating, a slice at a time.
#[test]
fn what_a_collection_leaves_is_swept() {
    let config = Config::DEFAULT.conservative_stacks(false).huge_pages(false).background_release(false);
    let config = config.generational(Generational::Off);
    let heap = Heap::create(&SYSTEM, config.address_space(4 << 30).min_heap(256 * MIB)).unwrap();
    let figures = Figures::default();
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    allocate(&mutator, 120 * MIB);
    mutator.collect().unwrap();
    assert!(day.stats().in_use_bytes >= 120 * MIB);
    assert!(!day.pass(Duration::from_millis(2)), "it rests between two slices");
    day.pass(SECOND);
    let stats = day.stats();
    assert!(stats.in_use_bytes < MIB && stats.collections == 1, "{stats:?}");
}

/// Where one collection follows another the program sweeps what they leave; after the last, the thread does.
#[test]
fn a_program_that_collects_all_the_time_sweeps_itself() {
    let (heap, figures) = (heap_that_collects_when_asked(), Figures::default());
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    for _ in 0..20 {
        allocate(&mutator, 4 * MIB);
        mutator.collect().unwrap();
        assert!(!day.pass(Duration::from_millis(1)));
    }
    let stats = day.stats();
    assert_eq!((stats.swept_by_background, stats.collections), (0, 20));
    day.pass(SECOND);
    assert!(day.stats().swept_by_background >= 500, "{:?}", day.stats());
}

/// Memory that arenas have given up stays for a second, for the next; then it goes back to the kernel, and after a full collection the
/// pages do.
#[test]
fn memory_of_arenas_goes_back_when_it_is_idle() {
    let (heap, figures) = (quiet_heap(), Figures::default());
    let mutator = Mutator::attach(&heap, None).unwrap();
    let mut day = Day::new(&heap, &figures);
    let fill = |bytes: usize| {
        let arena = mutator.arenas().open(ArenaKind::Borrowed, false).unwrap();
        for _ in 0..bytes / 4096 {
            // SAFETY: an arena of this mutator's, which is open.
            let at = unsafe { mutator.arenas().take_data(arena.as_ref(), 4096, 8) }.unwrap();
            // SAFETY: N bytes of the arena.
            unsafe { (at as *mut u8).write_bytes(1, 4096) };
        }
        arena
    };
    // SAFETY: an arena of this mutator's, which is open; nothing uses it afterwards.
    let close = |arena: NonNull<ArenaHeader>| unsafe { mutator.arenas().close(arena.as_ref()) }.unwrap();
    let large = fill(64 * MIB);
    assert_eq!((heap.inspect().stats().collections, heap.inspect().stats().arena_bytes / (62 * MIB)), (0, 1));
    close(large);
    let free = heap.inspect().stats().arena_free_bytes;
    assert!(free >= 64 * MIB && heap.inspect().stats().arena_bytes == 0);
    mutator
        .blocking(|| {
            assert!(!day.pass(Duration::from_millis(900)), "it looks again in a second");
            assert!(day.stats().released_bytes == 0);
            assert!(day.pass(SECOND * 5), "and has nothing to do any more");
            assert!(day.stats().released_bytes >= 62 * MIB as u64, "{:?}", day.stats());
        })
        .unwrap();
    // Addresses stay until a collection has seen no pointer there; of memory that is in use now and then nothing goes.
    assert_eq!(heap.inspect().stats().arena_free_bytes, free);
    for _ in 0..20 {
        close(fill(8 * MIB));
        mutator.blocking(|| day.pass(Duration::from_millis(400))).unwrap();
    }
    assert!(day.stats().released_bytes <= 74 * MIB as u64, "{:?}", day.stats());
    mutator.collect().unwrap();
    mutator.collect().unwrap();
    assert!(heap.inspect().stats().arena_free_bytes <= 16 * MIB, "{:?}", heap.inspect().stats());
}
