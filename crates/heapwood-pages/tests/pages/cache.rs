//! Page caches: blocks at the boundaries of levels and of the address space, how rarely a cache takes the lock, and that
//! no page is lost as the last ones go. Invariant: a cached page counts as in use. The cache is that of the Go page allocator
//! proposal; that a stream of 15-page requests must not take the lock each time is where it differs.

use crate::common::{ALL, ENTRY, new, only_free, seen};
use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, PageAllocator, PageCache, PageCount, PageIndex, SharedPages};

const MOST: usize = PageCache::MOST.0;

fn shared(pages: usize) -> SharedPages<Bits48> {
    let shared = SharedPages::new(&SYSTEM, PageCount(pages)).unwrap();
    shared.grow(PageIndex(0), PageCount(pages)).unwrap();
    shared
}

/// Allocates with a cache; returns the first page.
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
fn the_first_and_the_last_page_of_the_address_space_are_cached() {
    let mut pages = new::<Bits48>(ALL);
    pages.grow(PageIndex(ALL - 1), PageCount(1)).unwrap();
    pages.grow(PageIndex(0), PageCount(1)).unwrap();
    let mut cache = PageCache::EMPTY;
    assert_eq!(into(&mut pages, &mut cache, 1), 0);
    assert!(cache.is_empty());
    assert_eq!(into(&mut pages, &mut cache, 1), ALL - 1);
    assert_eq!((cache.base(), cache.is_empty()), (PageIndex(ALL - 64), true));
    assert!(pages.allocate_into(&mut cache, PageCount(1)).is_err());
    // The whole last block, with one page in use.
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
fn a_cache_takes_blocks_on_either_side_of_every_level_boundary() {
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
            // The returned pages end at a used run, and are found at full length.
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
fn a_stream_of_requests_of_one_size_rarely_takes_the_lock() {
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
        // One lock acquisition serves as many requests as fit into a block: nine of 7 pages.
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
        // The rest of the first block is available to other requests.
        let rest = 64 - each * count;
        if rest > 0 {
            let run = pages.allocate(&mut cache, PageCount(rest)).unwrap();
            assert_eq!(run.first.0, each * count, "runs of {count}");
        }
    }
}

#[test]
fn flushing_nothing_takes_no_lock() {
    let pages = shared(1000);
    let mut cache = PageCache::EMPTY;
    // A used-up cache equals an empty one.
    for _ in 0..64 {
        pages.allocate(&mut cache, PageCount(1)).unwrap();
    }
    assert!(cache.is_empty());
    let used_up = pages.stats();
    pages.flush(&mut cache);
    assert_eq!(pages.stats(), used_up);
}

#[test]
fn the_last_pages_are_allocated_and_then_errors_change_nothing() {
    for count in [1, 2, 5, 16] {
        let pages = shared(130);
        let mut cache = PageCache::EMPTY;
        let mut taken = [false; 130];
        while let Ok(run) = pages.allocate(&mut cache, PageCount(count)) {
            for page in &mut taken[run.first.0..run.first.0 + count] {
                assert!(!core::mem::replace(page, true), "{} twice", run.first);
            }
        }
        // No run is left in which the request would have fitted.
        pages.flush(&mut cache);
        let fits = taken.windows(count).any(|pages| !pages.contains(&true));
        assert!(!fits || count > 1, "runs of {count}");
        let free = taken.iter().filter(|&&taken| !taken).count();
        // Single pages, down to the last one.
        for _ in 0..free {
            pages.allocate(&mut cache, PageCount(1)).unwrap();
        }
        let before = (pages.with(seen), cache);
        for asked in [0, 1, count, 16, 130, 131].map(PageCount) {
            assert_eq!(pages.allocate(&mut cache, asked).unwrap_err().free, PageCount(0));
        }
        assert_eq!((pages.with(seen), cache), before);
        pages.is_valid().unwrap();
        pages.free(PageIndex(77), PageCount(1)).unwrap();
        let run = pages.allocate(&mut cache, PageCount(1)).unwrap();
        assert_eq!((run.first, run.scavenged), (PageIndex(77), PageCount(0)));
        pages.is_valid().unwrap();
    }
}

#[test]
fn a_run_that_the_cached_pages_complete_is_found() {
    // Three cached pages and twelve free ones after them: together a run of fifteen.
    for count in [13, 15, 16] {
        let mut pages = only_free(1024, &[(0, 76)]);
        let mut cache = PageCache::EMPTY;
        into(&mut pages, &mut cache, 1);
        assert_eq!(from(&mut cache, 60), Some(1));
        if count == 16 {
            // Still too long: an error, and the cached pages are free.
            assert_eq!(pages.allocate_into(&mut cache, PageCount(16)).unwrap_err().free, PageCount(15));
        } else {
            assert_eq!(into(&mut pages, &mut cache, count), 61);
        }
        assert!(cache.is_empty());
        pages.is_valid().unwrap();
        assert_eq!(pages.free_pages().0, 15 - count % 16);
    }
    // Longer than any cached run.
    let mut pages = only_free(1024, &[(0, 100)]);
    let mut cache = PageCache::EMPTY;
    into(&mut pages, &mut cache, 1);
    assert_eq!(into(&mut pages, &mut cache, 99), 1);
    pages.is_valid().unwrap();
}
