//! Page caches: blocks at the boundaries of levels and of the address space. Invariant: a cached page counts as in use. The cache is
//! that of the Go page allocator proposal. All else of them is in the module `shared`.

use crate::common::{ALL, ENTRY, new};
use heapwood_pages::{Bits48, PageAllocator, PageCache, PageCount, PageIndex};

const MOST: usize = PageCache::MOST.0;

/// Allocates with a cache; returns the first page.
fn into(pages: &mut PageAllocator<Bits48>, cache: &mut PageCache, count: usize) -> usize {
    let run = pages.allocate_into(cache, PageCount(count)).unwrap();
    assert_eq!(run.count.0, count);
    pages.is_valid().unwrap();
    run.first.0
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
