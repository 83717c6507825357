//! What the heap's own thread does but for idle collections: heaps of real objects, under a clock that the test moves, without a
//! thread. It is seen in the counters.

use super::background_loop::BackgroundLoop;
use super::figures::Figures;
use crate::entry::attach::Attached;
use crate::heap::{Heap, HeapBox};
use crate::mutator::Mutator;
use crate::observe::Stats;
use crate::settings::options::{Config, Generational};
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_heap::{ArenaHeader, ArenaKind};
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;
use heapwood_pages::Clock;

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
        let worker = BackgroundLoop::new(heap.state(), heap.collector(), figures, None);
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
