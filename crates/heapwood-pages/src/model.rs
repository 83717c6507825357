//! A loom model of shared pages: the product's allocator, index, caches and lock, with two mutators and a scavenger,
//! in every order of their steps up to a number of preemptions. Every page has a cell to which its owner writes its
//! name without a lock. Invariant: only the page's owner writes the cell. Two owners at the same time are a data race,
//! which loom reports; two owners without a free between them leave a wrong name.
//!
//! A small number of preemptions finds nearly all errors: Musuvathi and Qadeer, "Iterative context bounding for
//! systematic testing of multithreaded programs".

use crate::{Effort, PageCache, PageCount, PageIndex, PageRun, ScavengePolicy, SharedPages, Tiny};
use heapwood_os::SYSTEM;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// At most three chunks.
const PAGES: usize = 12;

const NOBODY: u32 = 0;
const FIRST: u32 = 1;
const SECOND: u32 = 2;
const SCAVENGER: u32 = 3;

struct World {
    pages: SharedPages<Tiny>,
    owners: [UnsafeCell<u32>; PAGES],
}

impl World {
    /// A world of `pages` free pages. The lowest `touched` are resident.
    fn new(pages: usize, touched: usize) -> Self {
        let world = World {
            pages: SharedPages::new(&SYSTEM, PageCount(pages)).unwrap(),
            owners: core::array::from_fn(|_| UnsafeCell::new(NOBODY)),
        };
        world.pages.grow(PageIndex(0), PageCount(pages)).unwrap();
        if touched > 0 {
            let mut cache = PageCache::EMPTY;
            let run = world.take(&mut cache, touched, FIRST);
            world.pages.flush(&mut cache);
            world.free(run, FIRST);
        }
        world
    }

    fn change_owner(&self, first: PageIndex, count: PageCount, from: u32, to: u32) {
        for owner in &self.owners[first.0..first.0 + count.0] {
            // SAFETY: loom reports concurrent accesses.
            let before = owner.with_mut(|owner| unsafe { core::mem::replace(&mut *owner, to) });
            assert_eq!(before, from, "{first}, {count}: a page with two owners");
        }
    }

    fn take(&self, cache: &mut PageCache, count: usize, who: u32) -> PageRun {
        let run = self.pages.allocate(cache, PageCount(count)).expect("there are pages enough");
        assert_eq!(run.count.0, count);
        self.change_owner(run.first, run.count, NOBODY, who);
        run
    }

    fn free(&self, run: PageRun, who: u32) {
        self.change_owner(run.first, run.count, who, NOBODY);
        self.pages.free(run.first, run.count).unwrap();
    }

    /// Releases one run if there is any; `taken` is the kernel's answer.
    fn scavenge(&self, taken: bool) {
        let policy = ScavengePolicy { most: PageCount(4), huge_pages: false };
        self.pages.scavenge(Effort::Full, policy, |first, count| {
            self.change_owner(first, count, NOBODY, SCAVENGER);
            self.change_owner(first, count, SCAVENGER, NOBODY);
            taken
        });
        // No thread may see a missing note, even for a moment.
        self.pages.is_valid().unwrap();
    }

    /// Checks that all pages are free at the end.
    fn check_left(&self) {
        self.pages.is_valid().unwrap();
        let figures = self.pages.stats();
        assert_eq!(figures.free, figures.grown, "pages were lost");
    }
}

fn model(preemptions: usize, run: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

/// Two mutators move their caches between blocks, and leave the rest to each other.
#[test]
fn a_cache_changes_hands() {
    model(4, || {
        let world = Arc::new(World::new(12, 0));
        let theirs = world.clone();
        let other = thread::spawn(move || {
            let mut cache = PageCache::EMPTY;
            let one = theirs.take(&mut cache, 1, SECOND);
            theirs.pages.flush(&mut cache);
            // Flushed pages are no longer in this cache.
            let two = theirs.take(&mut cache, 2, SECOND);
            theirs.free(one, SECOND);
            theirs.free(two, SECOND);
            theirs.pages.flush(&mut cache);
        });
        let mut cache = PageCache::EMPTY;
        let one = world.take(&mut cache, 3, FIRST);
        // The last page of the block is returned as the cache moves.
        let two = world.take(&mut cache, 2, FIRST);
        world.free(one, FIRST);
        world.pages.flush(&mut cache);
        world.free(two, FIRST);
        other.join().unwrap();
        world.check_left();
    });
}

fn release_races_allocation(taken: bool) {
    let world = Arc::new(World::new(8, 8));
    let theirs = world.clone();
    let scavenger = thread::spawn(move || theirs.scavenge(taken));
    let mut cache = PageCache::EMPTY;
    // From the cache, which may hold a whole chunk; and a run that must be two of a chunk's four pages.
    let (one, two) = (world.take(&mut cache, 1, FIRST), world.take(&mut cache, 2, FIRST));
    world.free(one, FIRST);
    world.pages.flush(&mut cache);
    world.free(two, FIRST);
    scavenger.join().unwrap();
    world.check_left();
}

#[test]
fn a_release_races_allocation() {
    model(4, || release_races_allocation(true));
}

#[test]
fn a_refused_release_races_allocation() {
    model(4, || release_races_allocation(false));
}

/// The scavenger finds a note whose pages are in use or cached, and clears it while they come back: by a free, by a
/// flush, or as the cache moves to another block.
fn a_note_goes_while_another_comes(come_back: fn(&World, &mut PageCache)) {
    let world = Arc::new(World::new(8, 4));
    let mut cache = PageCache::EMPTY;
    let one = world.take(&mut cache, 1, FIRST);
    let theirs = world.clone();
    let scavenger = thread::spawn(move || theirs.scavenge(true));
    come_back(&world, &mut cache);
    scavenger.join().unwrap();
    world.pages.flush(&mut cache);
    world.free(one, FIRST);
    world.check_left();
}

#[test]
fn a_note_goes_while_a_free_makes_another() {
    model(4, || {
        a_note_goes_while_another_comes(|world, cache| {
            let rest = world.take(cache, 3, FIRST);
            world.free(rest, FIRST);
        })
    });
}

#[test]
fn a_note_goes_while_a_flush_makes_another() {
    model(4, || a_note_goes_while_another_comes(|world, cache| world.pages.flush(cache)));
}

#[test]
fn a_note_goes_while_a_change_of_block_makes_another() {
    model(4, || {
        a_note_goes_while_another_comes(|world, cache| {
            let next = world.take(cache, 4, FIRST);
            // Scavenged pages, which the scavenger skips.
            assert_eq!(next.first, PageIndex(4));
            world.free(next, FIRST);
        })
    });
}

/// One scavenger clears the note while the other has the pages, and the kernel then refuses the release.
#[test]
fn two_scavengers_are_refused() {
    model(4, || {
        let world = Arc::new(World::new(4, 4));
        let theirs = world.clone();
        let other = thread::spawn(move || theirs.scavenge(false));
        world.scavenge(false);
        other.join().unwrap();
        world.check_left();
    });
}

/// All three threads at once, with fewer preemptions, since there are many more orders.
#[test]
fn two_mutators_and_a_scavenger() {
    model(3, || {
        let world = Arc::new(World::new(12, 12));
        let (theirs, its) = (world.clone(), world.clone());
        let other = thread::spawn(move || {
            let mut cache = PageCache::EMPTY;
            let one = theirs.take(&mut cache, 1, SECOND);
            theirs.free(one, SECOND);
            theirs.pages.flush(&mut cache);
        });
        let scavenger = thread::spawn(move || its.scavenge(true));
        let mut cache = PageCache::EMPTY;
        let one = world.take(&mut cache, 1, FIRST);
        world.pages.flush(&mut cache);
        world.free(one, FIRST);
        other.join().unwrap();
        scavenger.join().unwrap();
        world.check_left();
    });
}
