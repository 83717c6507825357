//! Caches, batches and releases against a model with a state for each page: random steps of several mutators and a
//! scavenger, with every check after each. The same from two threads, with the walker at the end.

use crate::common::Random;
use heapwood_os::SYSTEM;
use heapwood_pages::{
    Bits48, Effort, Geometry, PageCache, PageCount, PageIndex, PageRun, ScavengePolicy, SharedPages, Tiny,
};
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

const CACHES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Free,
    Scavenged,
    Used,
    /// In a cache, and whether it is scavenged.
    Cached(usize, bool),
}

use State::*;

impl State {
    fn is_free(self) -> bool {
        matches!(self, Free | Scavenged)
    }
}

struct Both<G: Geometry> {
    pages: SharedPages<G>,
    caches: [PageCache; CACHES],
    model: Vec<State>,
}

#[derive(Clone, Debug)]
enum Step {
    Grow(usize, usize),
    Allocate(usize, usize),
    Free(usize, usize),
    /// Frees every `stride`th used page of a range, in ascending or descending order.
    Batch(usize, usize, usize, bool),
    Flush(usize),
    Scavenge(Effort, usize, bool, bool),
    Cycle,
}

fn steps(reservation: usize, len: usize) -> impl Strategy<Value = Vec<Step>> {
    let count = prop_oneof![8 => 0..6usize, 4 => 6..20usize, 2 => 1..70usize, 1 => 1..reservation + 2];
    let effort = prop_oneof![Just(Effort::Gentle), Just(Effort::Full)];
    let step = prop_oneof![
        2 => (0..reservation + 1, count.clone()).prop_map(|(p, n)| Step::Grow(p, n)),
        8 => (0..CACHES, count.clone()).prop_map(|(c, n)| Step::Allocate(c, n)),
        3 => (0..reservation + 1, count.clone()).prop_map(|(p, n)| Step::Free(p, n)),
        2 => (0..reservation, 1..reservation, 1..4usize, any::<bool>()).prop_map(|(p, n, s, r)| Step::Batch(p, n, s, r)),
        1 => (0..CACHES).prop_map(Step::Flush),
        3 => (effort, 1..300usize, any::<bool>(), any::<bool>())
            .prop_map(|(e, n, h, t)| Step::Scavenge(e, n, h, t)),
        1 => Just(Step::Cycle),
    ];
    prop::collection::vec(step, 1..len)
}

impl<G: Geometry> Both<G> {
    /// The most pages that a cache takes at once.
    const BLOCK: usize = if G::LOG_CHUNK_PAGES < 6 { 1 << G::LOG_CHUNK_PAGES } else { 64 };

    fn new(reservation: usize) -> Self {
        let pages = SharedPages::new(&SYSTEM, PageCount(reservation)).unwrap();
        Both { pages, caches: [PageCache::EMPTY; CACHES], model: vec![Absent; reservation] }
    }

    /// The naive first fit.
    fn first_fit(&self, count: usize) -> Option<usize> {
        let mut run = 0;
        let free = |page: &usize| {
            run = if self.model[*page].is_free() { run + 1 } else { 0 };
            run == count
        };
        (0..self.model.len()).find(free).map(|last| last + 1 - count)
    }

    fn cached_fit(&self, cache: usize, count: usize) -> bool {
        let mine: Vec<bool> = self.model.iter().map(|s| matches!(s, Cached(c, _) if *c == cache)).collect();
        count > 0 && mine.windows(count).any(|w| w.iter().all(|&m| m))
    }

    fn step(&mut self, step: Step) {
        let reservation = self.model.len();
        match step {
            Step::Grow(first, count) => {
                let fits = count > 0 && first + count <= reservation;
                if fits && self.model[first..first + count].iter().all(|&s| s == Absent) {
                    self.pages.grow(PageIndex(first), PageCount(count)).unwrap();
                    self.model[first..first + count].fill(Scavenged);
                }
            }
            Step::Allocate(cache, count) => self.allocate(cache, count),
            Step::Free(first, count) => {
                let fits = count > 0 && first + count <= reservation;
                // The allocator cannot distinguish cached pages from used ones, so this test must not free them.
                if fits && self.model[first..first + count].iter().any(|s| matches!(s, Cached(..))) {
                    return;
                }
                let used = fits && self.model[first..first + count].iter().all(|&s| s == Used);
                assert_eq!(self.pages.free(PageIndex(first), PageCount(count)).is_ok(), used);
                if used {
                    self.model[first..first + count].fill(Free);
                }
            }
            Step::Batch(first, count, stride, backwards) => {
                let end = (first + count).min(reservation);
                let used = (first..end).step_by(stride).filter(|&p| self.model[p] == Used);
                let mut runs: Vec<(PageIndex, PageCount)> =
                    used.map(|p| (PageIndex(p), PageCount(1))).collect();
                if backwards {
                    runs.reverse();
                }
                self.pages.free_batch(&runs).unwrap();
                runs.iter().for_each(|(page, _)| self.model[page.0] = Free);
            }
            Step::Flush(cache) => {
                self.pages.flush(&mut self.caches[cache]);
                self.forget(cache);
            }
            Step::Scavenge(effort, most, huge_pages, taken) => self.scavenge(effort, most, huge_pages, taken),
            Step::Cycle => self.pages.new_cycle(),
        }
    }

    /// Cached pages are free again.
    fn forget(&mut self, cache: usize) {
        for state in &mut self.model {
            match *state {
                Cached(c, scavenged) if c == cache => *state = if scavenged { Scavenged } else { Free },
                _ => {}
            }
        }
    }

    fn allocate(&mut self, cache: usize, count: usize) {
        let lock_acquisitions = self.pages.stats().lock_acquisitions;
        let by_cache = self.cached_fit(cache, count);
        let fit = self.first_fit(count);
        match self.pages.allocate(&mut self.caches[cache], PageCount(count)) {
            Ok(PageRun { first, count: got, scavenged }) => {
                assert_eq!(got.0, count);
                let locked = self.pages.stats().lock_acquisitions > lock_acquisitions;
                assert_eq!(locked, !by_cache, "the lock is taken exactly if the cache has no such run");
                if locked && fit.is_none() {
                    // There is such a run only with the pages that the cache returned.
                    assert!(self.caches[cache].is_empty());
                    self.forget(cache);
                    assert_eq!(self.first_fit(count), Some(first.0));
                } else if locked {
                    // The first fit; but in its block, returned pages may come before.
                    let fit = fit.expect("there is a run");
                    assert!(
                        first.0 == fit || first.0 < fit && first.0 / Self::BLOCK == fit / Self::BLOCK,
                        "{first}, {fit}"
                    );
                    if let Some(block) = self.changed_block(cache) {
                        self.forget(cache);
                        for page in block.0..(block.0 + Self::BLOCK).min(self.model.len()) {
                            if self.model[page].is_free() {
                                self.model[page] = Cached(cache, self.model[page] == Scavenged);
                            }
                        }
                    }
                }
                let taken = &mut self.model[first.0..first.0 + count];
                let without = |s: &&State| matches!(s, Scavenged | Cached(_, true));
                assert_eq!(scavenged.0, taken.iter().filter(without).count());
                taken.iter_mut().for_each(|state| {
                    assert!(
                        state.is_free() || matches!(state, Cached(c, _) if *c == cache),
                        "allocated twice"
                    );
                    *state = Used;
                });
            }
            Err(_) if count == 0 || count > self.model.len() => {}
            Err(_) => {
                assert!(!by_cache && self.caches[cache].is_empty());
                self.forget(cache);
                assert_eq!(self.first_fit(count), None);
            }
        }
    }

    /// The cache's block, if it differs from the model's.
    fn changed_block(&self, cache: usize) -> Option<PageIndex> {
        let now = &self.caches[cache];
        let known = |page: usize| matches!(self.model[page], Cached(c, _) if c == cache);
        let all = (0..self.model.len()).filter(|&page| now.get(PageIndex(page)).is_some());
        let same = { all }.all(known);
        (!same || now.is_empty() && (0..self.model.len()).any(known)).then_some(now.base())
    }

    fn scavenge(&mut self, effort: Effort, most: usize, huge_pages: bool, taken: bool) {
        let policy = ScavengePolicy { most: PageCount(most), huge_pages };
        let mut about = None;
        let done = self.pages.scavenge(effort, policy, |first, count| {
            about = Some((first.0, count.0));
            taken
        });
        let any = self.model.contains(&Free);
        assert!(done.is_some() <= any && (done.is_some() || effort == Effort::Gentle || !any));
        let (Some((pages, was_taken)), Some((first, count))) = (done, about) else { return };
        assert_eq!(was_taken, taken);
        let range = &mut self.model[first..first + count];
        assert_eq!(pages.0, range.iter().filter(|&&s| s == Free).count());
        assert!(pages.0 > 0 && range.iter().all(|s| s.is_free()), "only free pages");
        if count > most {
            assert!(huge_pages && count == 256 && first % 256 == 0, "longer only as a whole huge page");
        }
        if taken {
            range.fill(Scavenged);
        } else {
            range.fill(Free);
        }
    }

    fn check(&self) {
        self.pages.is_valid().unwrap_or_else(|e| panic!("{e}"));
        self.pages.with(|pages| {
            for (page, &state) in self.model.iter().enumerate() {
                let page = PageIndex(page);
                assert_eq!(pages.is_grown(page), state != Absent, "{page}");
                assert_eq!(pages.is_in_use(page), matches!(state, Used | Cached(..)), "{page}");
                assert_eq!(pages.is_scavenged(page), state == Scavenged, "{page}");
            }
        });
        for (c, cache) in self.caches.iter().enumerate() {
            for (page, &state) in self.model.iter().enumerate() {
                let expected = match state {
                    Cached(owner, scavenged) if owner == c => Some(scavenged),
                    _ => None,
                };
                assert_eq!(cache.get(PageIndex(page)), expected, "cache {c}, page {page}");
            }
        }
    }
}

fn run<G: Geometry>(reservation: usize, steps: Vec<Step>) {
    let mut both = Both::<G>::new(reservation);
    for step in steps {
        both.step(step);
        both.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_steps_of_a_tiny_geometry_agree_with_the_model(reservation in 1usize..33, steps in steps(32, 150)) {
        run::<Tiny>(reservation, steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// 1500 pages: three chunks, five whole huge pages.
    #[test]
    fn random_steps_of_48_bits_agree_with_the_model(steps in steps(1_500, 60)) {
        let mut all = vec![Step::Grow(0, 1_400)];
        all.extend(steps);
        run::<Bits48>(1_500, all);
    }
}

/// A mutator: it keeps a number of runs, and marks each of their pages as its own.
fn mutate(pages: &SharedPages<Bits48>, marks: &[AtomicBool], seed: u64, steps: u64) {
    let (mut random, mut cache, mut mine) = (Random(seed), PageCache::EMPTY, Vec::new());
    let unmark = |first: PageIndex, count: PageCount| {
        for mark in &marks[first.0..first.0 + count.0] {
            assert!(mark.swap(false, Ordering::Relaxed), "a page of a run was given to somebody else");
        }
    };
    for _ in 0..steps {
        match random.below(100) {
            0..54 => {
                let most = if random.below(50) == 0 { 700 } else { 1 + random.below(3) * 8 };
                let count = PageCount(1 + random.below(most));
                match pages.allocate(&mut cache, count) {
                    Ok(run) => {
                        for mark in &marks[run.first.0..run.first.0 + count.0] {
                            assert!(!mark.swap(true, Ordering::Relaxed), "a page was allocated twice");
                        }
                        mine.push((run.first, count));
                    }
                    // The other mutator may have all of it.
                    Err(_) if mine.is_empty() => {}
                    Err(_) => {
                        let (first, count) = mine.swap_remove(random.below(mine.len()));
                        unmark(first, count);
                        pages.free(first, count).unwrap();
                    }
                }
            }
            54..97 if !mine.is_empty() => {
                let (first, count) = mine.swap_remove(random.below(mine.len()));
                unmark(first, count);
                pages.free(first, count).unwrap();
            }
            97..99 => {
                let some = mine.len() - mine.len().min(20);
                let batch = mine.split_off(some);
                batch.iter().for_each(|&(first, count)| unmark(first, count));
                pages.free_batch(&batch).unwrap();
            }
            99 => pages.flush(&mut cache),
            _ => {}
        }
    }
    mine.iter().for_each(|&(first, count)| unmark(first, count));
    pages.free_batch(&mine).unwrap();
    pages.flush(&mut cache);
}

/// Several caches are filled in one acquisition of the lock, up to the request, and flushed in another.
#[test]
fn caches_are_filled_together() {
    for most in [0, 1, 17, 64, 100, 200, 256, 1000] {
        for count in [1, 3, 8, 20] {
            let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(4096)).unwrap();
            pages.grow(PageIndex(0), PageCount(1024)).unwrap();
            // Every tenth page is in use, so blocks have fewer free pages.
            let used: Vec<_> =
                (0..1024).map(|_| pages.allocate_uncached(PageCount(1)).unwrap().first).collect();
            used.iter()
                .filter(|page| page.0 % 30 != 7)
                .for_each(|&page| pages.free(page, PageCount(1)).unwrap());
            let (free, before) = (pages.stats().free.0, pages.stats().lock_acquisitions);
            let mut caches = [PageCache::EMPTY; 4];
            let run = pages.allocate_with(&mut caches, PageCount(count), PageCount(most)).unwrap();
            assert_eq!(pages.stats().lock_acquisitions, before + 1);
            let cached: usize = caches.iter().map(|cache| cache.pages().0).sum();
            assert!(cached <= most, "{cached} of {most}");
            // A long run fills no cache of its own; the others are as full as their blocks allow.
            assert!(cached >= most.min(3 * 58 - count), "{cached} of {most} with {count}");
            assert_eq!(pages.stats().free.0, free - count - cached);
            let held =
                |page: usize| caches.iter().filter(|cache| cache.get(PageIndex(page)).is_some()).count();
            assert!((0..1024).all(|page| held(page) <= 1), "a page is in two caches");
            assert!((run.first.0..run.first.0 + count).all(|page| held(page) == 0), "the run is in none");
            pages.is_valid().unwrap();
            pages.flush_all(&mut caches);
            assert_eq!(pages.stats().lock_acquisitions, before + 2);
            assert!(caches.iter().all(PageCache::is_empty));
            assert_eq!(pages.stats().free.0, free - count);
            pages.is_valid().unwrap();
        }
    }
}

/// `HEAPWOOD_PAGE_STEPS` is how many steps the mutators make together.
#[test]
fn two_mutators_and_a_scavenger_lose_no_page() {
    let steps =
        std::env::var("HEAPWOOD_PAGE_STEPS").map_or(400_000, |n| n.parse().expect("a number of steps"));
    const RESERVATION: usize = 12_000;
    let pages = &SharedPages::<Bits48>::new(&SYSTEM, PageCount(1 << 20)).unwrap();
    // Two separate regions.
    pages.grow(PageIndex(5), PageCount(5_000)).unwrap();
    pages.grow(PageIndex(7_000), PageCount(RESERVATION - 7_000)).unwrap();
    let marks: &Vec<AtomicBool> = &(0..RESERVATION).map(|_| AtomicBool::new(false)).collect();
    let ended = &AtomicBool::new(false);
    let released = std::thread::scope(|scope| {
        let scavenger = scope.spawn(move || {
            let (mut random, mut released) = (Random(77), 0);
            while !ended.load(Ordering::Relaxed) || released == 0 {
                let effort = if random.below(2) == 0 { Effort::Gentle } else { Effort::Full };
                let most = PageCount(1 + random.below(300));
                let policy = ScavengePolicy { most, huge_pages: random.below(2) == 0 };
                let taken = random.below(8) > 0;
                pages.scavenge(effort, policy, |first, count| {
                    let range = &marks[first.0..first.0 + count.0];
                    let unused = || range.iter().all(|mark| !mark.load(Ordering::Relaxed));
                    assert!(unused(), "released under its owner");
                    std::thread::yield_now();
                    assert!(unused(), "allocated while it was being released");
                    released += taken as usize * count.0;
                    taken
                });
                if random.below(100) == 0 {
                    pages.new_cycle();
                }
            }
            released
        });
        let mutators = [3, 5].map(|seed| scope.spawn(move || mutate(pages, marks, seed, steps / 2)));
        mutators.into_iter().for_each(|m| m.join().unwrap());
        ended.store(true, Ordering::Relaxed);
        scavenger.join().unwrap()
    });
    assert!(released > 0);
    pages.is_valid().unwrap();
    let figures = pages.stats();
    assert_eq!(figures.free, figures.grown);
    assert!(marks.iter().all(|mark| !mark.load(Ordering::Relaxed)));
}
