//! The background scavenger with a simulated clock: the exact pages that it releases, its share of a CPU, that it
//! releases only free pages, and that it splits no free huge page. The test sets the cost of a release and the length
//! of a sleep, so nothing depends on the machine.

use core::cell::Cell;
use core::time::Duration;
use heapwood_os::{HUGE_PAGE, SYSTEM};
use heapwood_pages::paced_work::WORK_SLICE;
use heapwood_pages::{
    Bits48, Clock, Effort, PAGE_SIZE, PacedWork, PageCount, PageIndex, ScavengePolicy, SharedPages,
};

const HUGE: usize = HUGE_PAGE / PAGE_SIZE;
const US: Duration = Duration::from_micros(1);
const HOUR: Duration = Duration::from_secs(3600);
const POLICY: ScavengePolicy = ScavengePolicy { most: PageCount(HUGE), huge_pages: true };

/// A clock that advances only by work and sleep.
struct Stub {
    cpu: Cell<Duration>,
    now: Cell<Duration>,
    /// The real length of a sleep.
    sleeps: fn(Duration) -> Duration,
    longest_sleep: Cell<Duration>,
}

impl Stub {
    fn new(sleeps: fn(Duration) -> Duration) -> Self {
        // Clocks may start at any time.
        let start = Cell::new(123 * HOUR);
        Stub { cpu: start.clone(), now: start, sleeps, longest_sleep: Cell::new(Duration::ZERO) }
    }

    fn work(&self, took: Duration) {
        self.cpu.set(self.cpu.get() + took);
        self.now.set(self.now.get() + took);
    }
}

impl Clock for Stub {
    fn cpu(&self) -> Duration {
        self.cpu.get()
    }

    fn now(&self) -> Duration {
        self.now.get()
    }

    fn sleep(&self, at_most: Duration) {
        self.longest_sleep.set(self.longest_sleep.get().max(at_most));
        self.now.set(self.now.get() + (self.sleeps)(at_most));
    }
}

/// Pages that are all in use, and so resident.
fn used(pages: usize) -> SharedPages<Bits48> {
    let shared = SharedPages::new(&SYSTEM, PageCount(pages)).unwrap();
    shared.grow(PageIndex(0), PageCount(pages)).unwrap();
    shared.allocate_uncached(PageCount(pages)).unwrap();
    shared
}

/// The heap of these tests: 32 chunks. The lower huge page of a chunk is wholly free if the chunk's number is even; of
/// the upper one, 2 of 3 pages are free, and one page in the middle is in use.
fn holes() -> (SharedPages<Bits48>, usize) {
    let pages = used(32 * 512);
    let mut freed = 0;
    for chunk in 0..32 {
        let free = (0..512).filter(|page| if *page < HUGE { chunk % 2 == 0 } else { page % 3 != 0 });
        for page in free {
            pages.free(PageIndex(chunk * 512 + page), PageCount(1)).unwrap();
            freed += 1;
        }
    }
    pages.new_cycle();
    pages.new_cycle();
    (pages, freed)
}

/// The cost of a release of `pages` pages.
fn cost(count: PageCount) -> Duration {
    2 * US + US * count.0 as u32 / 5
}

/// Works and rests until nothing above `keep` is left; returns the pages released.
fn run(pages: &SharedPages<Bits48>, clock: &Stub, keep: usize, mut beside: impl FnMut()) -> usize {
    let (mut background, mut released) = (PacedWork::new(100), 0);
    loop {
        let before = clock.cpu();
        let more = background.work_slice(clock, || {
            if pages.resident().0 <= keep {
                return false;
            }
            let done = pages.scavenge(Effort::Gentle, POLICY, |first, count| {
                pages.with(|p| {
                    assert!((first.0..first.0 + count.0).all(|page| p.is_in_use(PageIndex(page))));
                    // Parts of a huge page are released only if the chunk has no whole one left.
                    let chunk = first.0 / 512 * 512;
                    let whole = |huge: usize| (huge..huge + HUGE).all(|page| !p.is_in_use(PageIndex(page)));
                    let resident =
                        |huge: usize| (huge..huge + HUGE).any(|page| !p.is_scavenged(PageIndex(page)));
                    for huge in [chunk, chunk + HUGE] {
                        assert!(count.0 == HUGE || !(whole(huge) && resident(huge)), "{first}, {count}");
                    }
                });
                beside();
                clock.work(cost(count));
                true
            });
            released += done.map_or(0, |(pages, _)| pages.0);
            done.is_some()
        });
        assert!(clock.cpu() - before <= WORK_SLICE + cost(PageCount(HUGE)), "a slice that does not end");
        background.rest(clock, || false);
        pages.is_valid().unwrap();
        if !more {
            return released;
        }
    }
}

fn share(clock: &Stub, start: Duration) -> f64 {
    (clock.cpu() - start).as_secs_f64() / (clock.now() - start).as_secs_f64()
}

#[test]
fn free_pages_above_the_kept_ones_are_released_to_the_page() {
    for keep in [0, 5_000, 9_000, 12_000, 16_384, 20_000] {
        let (pages, freed) = holes();
        let clock = Stub::new(|asked| asked);
        let start = clock.now();
        let released = run(&pages, &clock, keep, || {});
        let in_use = 32 * 512 - freed;
        assert_eq!(pages.resident().0, 32 * 512 - released);
        if keep <= in_use {
            assert_eq!(released, freed, "all of it");
        } else if keep < 32 * 512 {
            // Down to the kept pages, and no further than the last run.
            assert!((keep + 1 - HUGE..=keep).contains(&pages.resident().0), "{keep} {}", pages.resident());
        }
        assert_eq!(released == 0, keep >= 32 * 512);
        if released > 0 {
            let share = share(&clock, start);
            assert!((0.0099..=0.0101).contains(&share), "{share}");
        }
        let again = run(&pages, &clock, keep, || {});
        assert_eq!(again, 0, "nothing twice");
    }
}

#[test]
fn a_clock_that_jumps_changes_little() {
    // Sleeps that end early, late, or after the machine was suspended.
    let clocks: [fn(Duration) -> Duration; 4] = [
        |asked| asked / 7 + Duration::from_nanos(1),
        |asked| asked * 3,
        |asked| asked + HOUR,
        // Every sleep ends after 50 us.
        |asked| asked.min(50 * US),
    ];
    for sleeps in clocks {
        let (pages, freed) = holes();
        let clock = Stub::new(sleeps);
        let start = clock.now();
        assert_eq!(run(&pages, &clock, 0, || {}), freed);
        let share = share(&clock, start);
        assert!(share <= 0.0101, "{share}");
        assert!(clock.longest_sleep.get() < Duration::from_millis(200), "{:?}", clock.longest_sleep.get());
    }
    // CPU time that jumps by an hour in one release: a rest of seconds, not of days.
    let (pages, _) = holes();
    let clock = Stub::new(|asked| asked);
    let mut background = PacedWork::new(100);
    let _ = background.work_slice(&clock, || {
        clock.work(HOUR);
        true
    });
    let before = clock.now();
    background.rest(&clock, || false);
    assert!(clock.now() - before < Duration::from_secs(10));
    // CPU time that goes backwards: no rest, no panic.
    let _ = background.work_slice(&clock, || {
        clock.cpu.set(Duration::ZERO);
        false
    });
    background.rest(&clock, || false);
    pages.is_valid().unwrap();
}

#[test]
fn a_pause_ends_when_it_is_stopped() {
    let clock = Stub::new(|asked| asked.min(10 * US));
    let mut background = PacedWork::new(100);
    background.work_slice(&clock, || {
        clock.work(WORK_SLICE);
        true
    });
    let before = clock.now();
    background.rest(&clock, || clock.now() - before >= 100 * US);
    assert_eq!(clock.now() - before, 100 * US);
}
