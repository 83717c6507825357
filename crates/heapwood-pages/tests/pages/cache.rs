//! Page caches, case by case: which block a cache takes, which requests go past it, how seldom it needs the lock, and
//! that what it held is all there when it leaves. Invariant: a cached page counts as in use. The cache is that of the
//! Go page allocator proposal; that a stream of 15-page requests must not take the lock each time is where it differs.

use crate::common::{ALL, ENTRY, fresh, new, only_free, seen};
use heapwood_os::SYSTEM;
use heapwood_pages::{AllocateError, Bits48, PageAllocator, PageCache, PageCount, PageIndex, SharedPages};

const MOST: usize = PageCache::MOST.0;

fn shared(pages: usize) -> SharedPages<Bits48> {
    let shared = SharedPages::new(&SYSTEM, PageCount(pages)).unwrap();
    shared.grow(PageIndex(0), PageCount(pages)).unwrap();
    shared
}

/// Takes pages with the cache's help; returns the first.
fn into(pages: &mut PageAllocator<Bits48>, cache: &mut PageCache, count: usize) -> usize {
    let run = pages.allocate_into(cache, PageCount(count)).unwrap();
    assert_eq!(run.count.0, count);
    pages.is_valid().unwrap();
    run.first.0
}

fn from(cache: &mut PageCache, count: usize) -> Option<usize> {
    cache.allocate(PageCount(count)).map(|run| run.first.0)
}

fn cached(cache: &PageCache) -> Vec<usize> {
    let base = cache.base().0;
    (base..base + PageCache::BLOCK).filter(|&page| cache.get(PageIndex(page)).is_some()).collect()
}

#[test]
fn a_cache_takes_the_block_of_the_first_run() {
    let mut pages = fresh::<Bits48>(1024);
    let mut cache = PageCache::EMPTY;
    assert_eq!(into(&mut pages, &mut cache, 3), 0);
    assert_eq!(cached(&cache), (3..64).collect::<Vec<_>>());
    assert_eq!((pages.free_pages().0, pages.hint()), (1024 - 64, PageIndex(64)));
    assert!(pages.is_in_use(PageIndex(63)) && !pages.is_in_use(PageIndex(64)));
    // Fresh pages have no memory, and the run says so.
    assert_eq!(cache.get(PageIndex(3)), Some(true));
    let run = cache.allocate(PageCount(5)).unwrap();
    assert_eq!((run.first, run.scavenged), (PageIndex(3), PageCount(5)));
    assert_eq!(cache.get(PageIndex(7)), None);
    assert_eq!((cache.pages(), from(&mut cache, 57), from(&mut cache, 0)), (PageCount(56), None, None));
    assert_eq!((from(&mut cache, 56), from(&mut cache, 1)), (Some(8), None));
    assert!(cache.is_empty());
}

#[test]
fn the_last_block_of_a_chunk() {
    let mut pages = only_free(1024, &[(448, 576)]);
    let (mut cache, mut other) = (PageCache::EMPTY, PageCache::EMPTY);
    assert_eq!(into(&mut pages, &mut cache, 1), 448);
    assert_eq!(cached(&cache), (449..512).collect::<Vec<_>>());
    assert_eq!(pages.free_pages().0, 512, "nothing of the next chunk");
    assert_eq!(into(&mut pages, &mut other, 16), 512);
    pages.flush(&mut cache);
    pages.is_valid().unwrap();
    assert_eq!(pages.hint(), PageIndex(449));
}

#[test]
fn runs_across_blocks_and_long_ones_bypass_the_cache() {
    // Across words, across chunks, and longer than is worth a block.
    for (first, count) in [(60, 8), (63, 2), (127, 16), (508, 8), (511, 2), (640, 17), (0, 64)] {
        let mut pages = only_free(2048, &[(1024, 64)]);
        let mut cache = PageCache::EMPTY;
        into(&mut pages, &mut cache, 1);
        // One page is left in the cache.
        assert_eq!(from(&mut cache, 62), Some(1025));
        pages.free(PageIndex(first), PageCount(count)).unwrap();
        let before = cache;
        assert_eq!(from(&mut cache, count), None);
        assert_eq!(into(&mut pages, &mut cache, count), first);
        assert_eq!((cache, pages.free_pages().0), (before, 0), "{first}, {count}");
        pages.free(PageIndex(first), PageCount(count)).unwrap();
        pages.is_valid().unwrap();
    }
}

#[test]
fn the_most_that_is_cached_changes_the_block_and_one_more_does_not() {
    let mut pages = fresh::<Bits48>(1024);
    let mut cache = PageCache::EMPTY;
    assert_eq!(into(&mut pages, &mut cache, MOST + 1), 0);
    assert_eq!((cache, pages.free_pages().0), (PageCache::EMPTY, 1023 - MOST));
    assert_eq!(into(&mut pages, &mut cache, MOST), MOST + 1);
    assert_eq!(cached(&cache), (2 * MOST + 1..64).collect::<Vec<_>>());
}

#[test]
fn first_and_last_page_of_the_address_space() {
    let mut pages = new::<Bits48>(ALL);
    pages.grow(PageIndex(ALL - 1), PageCount(1)).unwrap();
    pages.grow(PageIndex(0), PageCount(1)).unwrap();
    let mut cache = PageCache::EMPTY;
    assert_eq!(into(&mut pages, &mut cache, 1), 0);
    assert!(cache.is_empty());
    assert_eq!(into(&mut pages, &mut cache, 1), ALL - 1);
    assert_eq!((cache.base(), cache.is_empty()), (PageIndex(ALL - 64), true));
    let none = AllocateError::NoRun { asked: PageCount(1), free: PageCount(0) };
    assert_eq!(pages.allocate_into(&mut cache, PageCount(1)), Err(none));
    // The whole last block, of which one page is in use.
    pages.grow(PageIndex(ALL - 64), PageCount(63)).unwrap();
    assert_eq!(into(&mut pages, &mut cache, MOST), ALL - 64);
    assert_eq!(cached(&cache), (ALL - 64 + MOST..ALL - 1).collect::<Vec<_>>());
    for page in [ALL - 1, ALL, usize::MAX, 0] {
        assert_eq!(cache.get(PageIndex(page)), None);
    }
    pages.free(PageIndex(ALL - 1), PageCount(1)).unwrap();
    pages.flush(&mut cache);
    pages.is_valid().unwrap();
    assert!(pages.free_pages().0 == 64 - MOST && pages.hint() <= PageIndex(ALL - 64 + MOST));
    pages.free(PageIndex(0), PageCount(1)).unwrap();
    assert_eq!(into(&mut pages, &mut cache, 1), 0);
}

#[test]
fn a_block_with_holes() {
    let mut pages = only_free(1024, &[(3, 2), (10, 10), (63, 1)]);
    let state = seen(&pages);
    let mut cache = PageCache::EMPTY;
    // The run that was asked for is not the first in the block.
    assert_eq!(into(&mut pages, &mut cache, 4), 10);
    assert_eq!(cached(&cache), [3, 4, 14, 15, 16, 17, 18, 19, 63]);
    assert_eq!(cache.get(PageIndex(3)), Some(false), "it was freed and has memory");
    assert_eq!(pages.free_pages().0, 0);
    assert_eq!((from(&mut cache, 7), from(&mut cache, 3)), (None, Some(14)));
    assert_eq!((from(&mut cache, 1), from(&mut cache, 2), from(&mut cache, 2)), (Some(3), Some(17), None));
    assert_eq!(cached(&cache), [4, 19, 63]);
    pages.flush(&mut cache);
    pages.is_valid().unwrap();
    pages.free_batch(&[(10, 9), (3, 1)].map(|(p, n)| (PageIndex(p), PageCount(n)))).unwrap();
    assert_eq!(seen(&pages), state);
}

#[test]
fn some_pages_of_a_block_have_memory() {
    let mut pages = fresh::<Bits48>(64);
    pages.claim(PageIndex(2), PageCount(3)).unwrap();
    pages.free(PageIndex(2), PageCount(3)).unwrap();
    let mut cache = PageCache::EMPTY;
    let run = pages.allocate_into(&mut cache, PageCount(4)).unwrap();
    assert_eq!((run.first, run.scavenged), (PageIndex(0), PageCount(2)));
    assert_eq!([4, 5].map(|page| cache.get(PageIndex(page))), [Some(false), Some(true)]);
    pages.flush(&mut cache);
    assert_eq!([4, 5].map(|page| pages.is_scavenged(PageIndex(page))), [false, true]);
    assert_eq!(pages.scavenged_pages().0, 59);
    pages.is_valid().unwrap();
}

#[test]
fn a_block_of_which_part_does_not_exist() {
    let mut pages = new::<Bits48>(1 << 16);
    pages.grow(PageIndex(70), PageCount(20)).unwrap();
    let mut cache = PageCache::EMPTY;
    assert_eq!(into(&mut pages, &mut cache, 4), 70);
    assert_eq!(cached(&cache), (74..90).collect::<Vec<_>>());
    assert!([64, 69, 90, 127].iter().all(|&page| !pages.is_grown(PageIndex(page))));
    // The rest comes while the block is in a cache, and goes to another.
    pages.grow(PageIndex(64), PageCount(6)).unwrap();
    let mut other = PageCache::EMPTY;
    assert_eq!(into(&mut pages, &mut other, 2), 64);
    assert_eq!(cached(&other), [66, 67, 68, 69]);
    pages.flush(&mut cache);
    pages.flush(&mut other);
    pages.is_valid().unwrap();
    assert_eq!((pages.free_pages().0, pages.hint()), (20, PageIndex(66)));
    assert!(!pages.is_grown(PageIndex(90)) && pages.is_in_use(PageIndex(70)));
}

#[test]
fn blocks_on_either_side_of_every_levels_boundary() {
    for (level, at) in ENTRY.into_iter().enumerate() {
        for far in [at, 5 * at] {
            let mut pages = new::<Bits48>(8 << 21);
            pages.grow(PageIndex(far - 64), PageCount(128)).unwrap();
            let (mut below, mut above) = (PageCache::EMPTY, PageCache::EMPTY);
            assert_eq!(into(&mut pages, &mut below, MOST), far - 64, "level {level}");
            assert_eq!(into(&mut pages, &mut above, MOST), far, "level {level}");
            pages.flush(&mut below);
            pages.is_valid().unwrap();
            pages.flush(&mut above);
            pages.is_valid().unwrap();
            // What came back from below ends where a run begins that is in use, and is found by all its length.
            let found = pages.allocate(PageCount(64 - MOST)).map(|run| run.first.0);
            assert_eq!(found, Ok(far - 64 + MOST), "level {level}");
            pages.free(PageIndex(far - 64), PageCount(64 + MOST)).unwrap();
            pages.is_valid().unwrap();
            let found = pages.allocate(PageCount(128)).map(|run| run.first.0);
            assert_eq!(found, Ok(far - 64), "level {level}: the two blocks join");
        }
    }
}

#[test]
fn a_stream_of_requests_of_one_size_seldom_takes_the_lock() {
    const REQUESTS: usize = 480;
    for count in 1..=MOST {
        let pages = shared(512 * 24);
        let (mut cache, mut last) = (PageCache::EMPTY, None);
        let before = pages.stats();
        for _ in 0..REQUESTS {
            let run = pages.allocate(&mut cache, PageCount(count)).unwrap();
            assert!(last.is_none_or(|last| run.first.0 > last), "in the order of addresses");
            last = Some(run.first.0 + count - 1);
        }
        // A lock acquisition serves as many as fit into a block: of 7 pages, nine.
        let each = 64 / count;
        let lock_acquisitions = pages.stats().lock_acquisitions - before.lock_acquisitions;
        assert!(
            lock_acquisitions as usize <= REQUESTS.div_ceil(each),
            "{lock_acquisitions} lock acquisitions for runs of {count}"
        );
        assert!(last.unwrap() < REQUESTS.div_ceil(each) * 64, "no block was left out");
        pages.flush(&mut cache);
        pages.is_valid().unwrap();
        let figures = pages.stats();
        assert_eq!(figures.free.0 + REQUESTS * count, figures.grown.0, "no page is lost");
        // The rest of the first block is there for who can use it.
        let rest = 64 - each * count;
        if rest > 0 {
            let run = pages.allocate(&mut cache, PageCount(rest)).unwrap();
            assert_eq!(run.first.0, each * count, "runs of {count}");
        }
    }
}

#[test]
fn flushing_nothing_does_nothing() {
    let pages = shared(1000);
    let mut cache = PageCache::EMPTY;
    let before = pages.stats();
    pages.flush(&mut cache);
    // A cache that was used up is as empty as one that never had any.
    for _ in 0..64 {
        pages.allocate(&mut cache, PageCount(1)).unwrap();
    }
    assert!(cache.is_empty());
    let used_up = pages.stats();
    pages.flush(&mut cache);
    assert_eq!((used_up.lock_acquisitions - before.lock_acquisitions, pages.stats()), (1, used_up));

    let mut pages = fresh::<Bits48>(1000);
    let state = seen(&pages);
    pages.flush(&mut PageCache::default());
    assert_eq!(seen(&pages), state);
    pages.is_valid().unwrap();
}

#[test]
fn exhaustion_hands_out_the_last_pages_and_then_changes_nothing() {
    for count in [1, 2, 5, 16] {
        let pages = shared(130);
        let mut cache = PageCache::EMPTY;
        let mut taken = [false; 130];
        while let Ok(run) = pages.allocate(&mut cache, PageCount(count)) {
            for page in &mut taken[run.first.0..run.first.0 + count] {
                assert!(!core::mem::replace(page, true), "{} twice", run.first);
            }
        }
        // Nothing is left in which the run would have fitted.
        pages.flush(&mut cache);
        let fits = taken.windows(count).any(|pages| !pages.contains(&true));
        assert!(!fits || count > 1, "runs of {count}");
        let free = taken.iter().filter(|&&taken| !taken).count();
        // Single pages, down to the last one.
        for _ in 0..free {
            pages.allocate(&mut cache, PageCount(1)).unwrap();
        }
        let (before, held) = (pages.with(seen), cache);
        for asked in [1, count, 16, 130].map(PageCount) {
            let none = AllocateError::NoRun { asked, free: PageCount(0) };
            assert_eq!(pages.allocate(&mut cache, asked), Err(none));
        }
        assert_eq!(pages.allocate(&mut cache, PageCount(0)), Err(AllocateError::Zero));
        let beyond = AllocateError::BeyondWindow { asked: PageCount(131), window: PageCount(130) };
        assert_eq!(pages.allocate(&mut cache, PageCount(131)), Err(beyond));
        assert_eq!((pages.with(seen), cache), (before, held));
        pages.is_valid().unwrap();
        pages.free(PageIndex(77), PageCount(1)).unwrap();
        let run = pages.allocate(&mut cache, PageCount(1)).unwrap();
        assert_eq!((run.first, run.scavenged), (PageIndex(77), PageCount(0)));
        pages.is_valid().unwrap();
    }
}

#[test]
fn a_run_that_the_cached_pages_complete_is_found() {
    // Three pages in a cache and twelve free behind them: together a run of fifteen.
    for count in [13, 15, 16] {
        let mut pages = only_free(1024, &[(0, 76)]);
        let mut cache = PageCache::EMPTY;
        into(&mut pages, &mut cache, 1);
        assert_eq!(from(&mut cache, 60), Some(1));
        if count == 16 {
            // Too long even so: an error, and what was cached is free.
            let none = AllocateError::NoRun { asked: PageCount(16), free: PageCount(15) };
            assert_eq!(pages.allocate_into(&mut cache, PageCount(16)), Err(none));
        } else {
            assert_eq!(into(&mut pages, &mut cache, count), 61);
        }
        assert!(cache.is_empty());
        pages.is_valid().unwrap();
        assert_eq!(pages.free_pages().0, 15 - count % 16);
    }
    // Longer than what is ever cached.
    let mut pages = only_free(1024, &[(0, 100)]);
    let mut cache = PageCache::EMPTY;
    into(&mut pages, &mut cache, 1);
    assert_eq!(into(&mut pages, &mut cache, 99), 1);
    pages.is_valid().unwrap();
}

#[test]
fn a_mutator_that_leaves_leaves_nothing_behind() {
    let pages = shared(5000);
    let mut caches = [PageCache::EMPTY; 3];
    for (turn, count) in [1, 15, 7, 16, 3, 40, 9, 2, 64, 11].into_iter().cycle().take(150).enumerate() {
        let run = pages.allocate(&mut caches[turn % 3], PageCount(count)).unwrap();
        pages.free(run.first, run.count).unwrap();
    }
    let held: usize = caches.iter().map(|cache| cache.pages().0).sum();
    assert!(held > 0);
    assert_eq!(pages.stats().free.0, 5000 - held);
    for cache in &mut caches {
        pages.flush(cache);
        assert_eq!(*cache, PageCache::EMPTY);
    }
    assert_eq!(pages.stats().free.0, 5000);
    pages.is_valid().unwrap();
    assert_eq!(pages.allocate(&mut PageCache::default(), PageCount(5000)).map(|run| run.first.0), Ok(0));
}
