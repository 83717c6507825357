//! Which pages are released, in which order, and which are left alone: exact pages for states that are made on purpose.
//! Invariant: what is offered is free, may be resident (or completes a free huge page), and is in nobody's hands.
//! The order, and that dense chunks rest, are those of the Go page allocator proposal and of Go's scavenger index.

use crate::common::{fresh, new, seen};
use heapwood_os::SYSTEM;
use heapwood_pages::{
    Bits48, ChunkIndex, Effort, PageAllocator, PageCache, PageCount, PageIndex, ReleasePolicy, SharedPages,
};

/// As much as there is, by runs; huge pages like any others.
const RUNS: ReleasePolicy = ReleasePolicy { most: PageCount(usize::MAX), huge_pages: false };

/// Huge pages whole and first.
const HUGE: ReleasePolicy = ReleasePolicy { most: PageCount(usize::MAX), huge_pages: true };

const fn at_most(most: usize, policy: ReleasePolicy) -> ReleasePolicy {
    ReleasePolicy { most: PageCount(most), huge_pages: policy.huge_pages }
}

/// Pages of which all exist and are in use, and so have memory.
fn used(pages: usize) -> SharedPages<Bits48> {
    let shared = SharedPages::new(&SYSTEM, PageCount(pages)).unwrap();
    shared.grow(PageIndex(0), PageCount(pages)).unwrap();
    let mut cache = PageCache::EMPTY;
    shared.allocate(&mut cache, PageCount(pages)).unwrap();
    assert!(cache.is_empty());
    shared
}

/// Pages of which these are free and have memory, and the others are in use.
fn free(pages: usize, ranges: &[(usize, usize)]) -> SharedPages<Bits48> {
    let shared = used(pages);
    give(&shared, ranges);
    shared
}

fn give(pages: &SharedPages<Bits48>, ranges: &[(usize, usize)]) {
    for &(first, count) in ranges {
        pages.free(PageIndex(first), PageCount(count)).unwrap();
    }
}

/// One release, which the kernel grants or not: the first page and how many.
fn release(
    pages: &SharedPages<Bits48>,
    effort: Effort,
    policy: ReleasePolicy,
    taken: bool,
) -> Option<(usize, usize)> {
    let mut about = None;
    let before = pages.stats();
    let done = pages.scavenge(effort, policy, |first, count| {
        // In use, to everybody else.
        pages.with(|pages| {
            for page in first.0..first.0 + count.0 {
                assert!(pages.is_in_use(PageIndex(page)) && !pages.is_scavenged(PageIndex(page)));
            }
        });
        about = Some((first.0, count.0));
        taken
    });
    pages.is_valid().unwrap();
    let after = pages.stats();
    assert_eq!((done.is_some(), after.free), (about.is_some(), before.free));
    if let Some((with_memory, granted)) = done {
        assert_eq!(granted, taken);
        assert_eq!(after.scavenged.0, before.scavenged.0 + if taken { with_memory.0 } else { 0 });
    }
    about
}

/// All that is released, one after the other; no test has so much that it would take longer.
fn all(pages: &SharedPages<Bits48>, effort: Effort, policy: ReleasePolicy) -> Vec<(usize, usize)> {
    core::iter::from_fn(|| release(pages, effort, policy, true)).take(100).collect()
}

#[test]
fn the_highest_address_goes_first() {
    let ranges = [(1000, 2), (63, 3), (700, 5), (1534, 2), (1536, 1), (10, 1)];
    let highest_first = [(1536, 1), (1534, 2), (1000, 2), (700, 5), (63, 3), (10, 1)];
    for policy in [RUNS, HUGE] {
        let pages = free(2048, &ranges);
        // Every chunk was dense, and all are.
        assert_eq!(all(&pages, Effort::Gentle, policy), []);
        assert_eq!(all(&pages, Effort::Full, policy), highest_first);
        assert_eq!(pages.stats().scavenged.0, 14);
    }
}

#[test]
fn without_huge_pages_the_highest_run_goes_piece_by_piece() {
    // A run over two chunks is two; each piece is the end of what is left.
    let pages = free(1024, &[(300, 500)]);
    let pieces = [(700, 100), (600, 100), (512, 88), (412, 100), (312, 100), (300, 12)];
    assert_eq!(all(&pages, Effort::Full, at_most(100, RUNS)), pieces);
    let pages = free(1024, &[(300, 500)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(512, 288), (300, 212)]);
    // Two huge pages, all free, are only a run.
    let pages = free(512, &[(0, 512)]);
    assert_eq!(all(&pages, Effort::Full, at_most(500, RUNS)), [(12, 500), (0, 12)]);
    // At least one page, whatever was asked for.
    let pages = free(512, &[(5, 2)]);
    assert_eq!(all(&pages, Effort::Full, at_most(0, RUNS)), [(6, 1), (5, 1)]);
}

#[test]
fn a_free_huge_page_goes_first_and_whole() {
    let ranges = [(0, 256), (300, 10), (500, 12)];
    let pages = free(512, &ranges);
    assert_eq!(
        all(&pages, Effort::Full, at_most(8, HUGE)),
        [(0, 256), (504, 8), (500, 4), (302, 8), (300, 2)]
    );
    // The same without: nothing is longer than asked for.
    let pages = free(512, &ranges);
    assert_eq!(release(&pages, Effort::Full, at_most(8, RUNS), true), Some((504, 8)));
    // Of two the higher one; a run of 256 that is no huge page is only a run.
    let pages = free(1024, &[(0, 512), (600, 256)]);
    let pieces = [(600, 256), (256, 256), (0, 256)];
    assert_eq!(all(&pages, Effort::Full, HUGE), pieces);
}

#[test]
fn a_partly_scavenged_free_huge_page_is_released_whole() {
    let mut pages = fresh::<Bits48>(512);
    for page in [100, 300] {
        pages.claim(PageIndex(page), PageCount(1)).unwrap();
    }
    // Page 100 has memory; page 300 is in use.
    pages.free(PageIndex(100), PageCount(1)).unwrap();
    assert_eq!(pages.scavenged_pages().0, 510);
    let release = pages.begin_release(ChunkIndex(0), at_most(1, HUGE)).unwrap();
    assert_eq!((release.first(), release.count().0, release.resident().0), (PageIndex(0), 256, 1));
    pages.is_valid().unwrap();
    assert_eq!((pages.free_pages().0, pages.scavenged_pages().0), (255, 255));
    pages.end_release(release, true);
    pages.is_valid().unwrap();
    assert_eq!((pages.free_pages().0, pages.scavenged_pages().0), (511, 511));
    assert_eq!(pages.begin_release(ChunkIndex(0), HUGE), None);
    // Without huge pages, only what has memory.
    pages.free(PageIndex(300), PageCount(1)).unwrap();
    let release = pages.begin_release(ChunkIndex(0), RUNS).unwrap();
    assert_eq!((release.first(), release.count().0, release.resident().0), (PageIndex(300), 1, 1));
    pages.end_release(release, true);
    assert_eq!(pages.scavenged_pages().0, 512);
}

#[test]
fn a_huge_page_with_one_page_in_use_is_split_after_whole_ones() {
    // The upper huge page would be first by address, but page 400 is in use.
    let pages = free(512, &[(0, 256), (256, 144), (401, 111)]);
    assert_eq!(all(&pages, Effort::Full, HUGE), [(0, 256), (401, 111), (256, 144)]);
    // With the last page of the lower one in use, only splitting is left.
    let pages = free(512, &[(0, 255), (256, 144), (401, 111)]);
    assert_eq!(all(&pages, Effort::Full, HUGE), [(401, 111), (256, 144), (0, 255)]);
    // Without, there is no reason to wait.
    let pages = free(512, &[(0, 256), (256, 144), (401, 111)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(401, 111), (0, 400)]);
}

#[test]
fn a_huge_page_of_which_part_does_not_exist_is_not_whole() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(512)).unwrap();
    pages.grow(PageIndex(1), PageCount(511)).unwrap();
    let run = pages.allocate(&mut PageCache::default(), PageCount(511)).unwrap();
    pages.free(run.first, run.count).unwrap();
    assert_eq!(all(&pages, Effort::Full, HUGE), [(256, 256), (1, 255)]);
}

#[test]
fn dense_begins_at_31_of_32() {
    for (in_use, dense) in [(495, false), (496, true), (512, true), (0, false)] {
        let mut pages = fresh::<Bits48>(1024);
        if in_use > 0 {
            pages.claim(PageIndex(512), PageCount(in_use)).unwrap();
        }
        assert_eq!(pages.is_dense(ChunkIndex(1)), dense, "{in_use}");
    }
    // What does not exist cannot be released either.
    let mut pages = new::<Bits48>(1024);
    pages.grow(PageIndex(0), PageCount(16)).unwrap();
    assert!(pages.is_dense(ChunkIndex(0)) && pages.is_dense(ChunkIndex(1)) && pages.is_dense(ChunkIndex(2)));
    pages.grow(PageIndex(16), PageCount(1)).unwrap();
    assert!(!pages.is_dense(ChunkIndex(0)));
}

#[test]
fn a_chunk_that_is_dense_now_is_left_alone_by_the_gentle() {
    let pages = free(512, &[(100, 16)]);
    for _ in 0..4 {
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
        pages.new_cycle();
    }
    assert_eq!(release(&pages, Effort::Full, RUNS, true), Some((100, 16)));
}

#[test]
fn a_chunk_that_was_dense_rests_for_two_cycles() {
    // Cycles that passed before do not matter.
    for passed in [0, 1, 2, 5] {
        let pages = used(512);
        (0..passed).for_each(|_| pages.new_cycle());
        give(&pages, &[(100, 200)]);
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None, "in the cycle in which it was dense");
        pages.new_cycle();
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None, "in the next");
        pages.new_cycle();
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), Some((100, 200)), "but not after");
    }
    // In a hurry, at once.
    for cycles in 0..2 {
        let pages = free(512, &[(100, 200)]);
        (0..cycles).for_each(|_| pages.new_cycle());
        assert_eq!(release(&pages, Effort::Full, RUNS, true), Some((100, 200)));
    }
}

#[test]
fn more_frees_neither_shorten_nor_lengthen_the_rest() {
    let pages = free(512, &[(100, 200)]);
    give(&pages, &[(300, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
    pages.new_cycle();
    // It is not dense any more, but was in the cycle before.
    give(&pages, &[(310, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
    give(&pages, &[(320, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
    pages.new_cycle();
    give(&pages, &[(330, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), Some((100, 240)));
}

#[test]
fn a_chunk_that_is_dense_again_rests_again() {
    let pages = free(512, &[(100, 200)]);
    (0..2).for_each(|_| pages.new_cycle());
    // All in use once more, and freed in this cycle.
    let run = pages.allocate(&mut PageCache::default(), PageCount(200)).unwrap();
    pages.free(run.first, run.count).unwrap();
    for _ in 0..2 {
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
        pages.new_cycle();
    }
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), Some((100, 200)));
}

#[test]
fn a_chunk_that_rests_does_not_hide_those_below() {
    let pages = used(1536);
    give(&pages, &[(0, 200), (512, 200)]);
    (0..2).for_each(|_| pages.new_cycle());
    // The highest was dense just now, the middle one is dense for a moment, the lowest has long been half empty.
    give(&pages, &[(1024, 200)]);
    let mut cache = PageCache::EMPTY;
    let lowest = pages.allocate(&mut cache, PageCount(200)).unwrap();
    let middle = pages.allocate(&mut cache, PageCount(190)).unwrap();
    assert_eq!((lowest.first.0, middle.first.0), (0, 512));
    give(&pages, &[(0, 100)]);
    (0..2).for_each(|_| pages.new_cycle());
    give(&pages, &[(1224, 1)]);
    let offered = all(&pages, Effort::Gentle, RUNS);
    assert_eq!(offered, [(1024, 201), (0, 100)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(702, 10)]);
}

#[test]
fn what_the_kernel_refuses_stays_releasable() {
    for (effort, policy) in [(Effort::Full, RUNS), (Effort::Full, HUGE), (Effort::Gentle, RUNS)] {
        let pages = free(512, &[(0, 511)]);
        (0..3).for_each(|_| pages.new_cycle());
        let first = if policy.huge_pages { (0, 256) } else { (0, 511) };
        for _ in 0..3 {
            let before = pages.with(seen);
            assert_eq!(release(&pages, effort, policy, false), Some(first), "{effort:?}");
            assert_eq!(pages.stats().scavenged.0, 0);
            let after = pages.with(seen);
            assert_eq!((before.0, before.1, before.3), (after.0, after.1, after.3));
        }
        let sum: usize = all(&pages, effort, policy).iter().map(|run| run.1).sum();
        assert_eq!(sum, 511);
    }
}

#[test]
fn what_is_in_use_or_cached_is_never_offered() {
    let pages = free(512, &[(0, 512)]);
    let mut cache = PageCache::EMPTY;
    // One page in use, 63 in the cache; and a run that went past the cache.
    let one = pages.allocate(&mut cache, PageCount(1)).unwrap();
    let run = pages.allocate(&mut cache, PageCount(100)).unwrap();
    assert_eq!((one.first.0, run.first.0, cache.pages().0), (0, 64, 63));
    let offered = all(&pages, Effort::Full, at_most(50, HUGE));
    assert_eq!(offered, [(256, 256), (206, 50), (164, 42)]);
    // Then it has no note, and is not looked at again.
    let lock_acquisitions = pages.stats().lock_acquisitions;
    assert_eq!(release(&pages, Effort::Full, HUGE, true), None);
    assert_eq!(pages.stats().lock_acquisitions, lock_acquisitions);
    // As it is flushed the cache's pages are offered, and only those.
    pages.flush(&mut cache);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(1, 63)]);
    give(&pages, &[(0, 1), (64, 100)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(64, 100), (0, 1)]);
    assert_eq!(pages.stats().scavenged.0, 512);
}

#[test]
fn what_a_cache_gives_back_as_its_block_changes_is_offered() {
    let pages = free(512, &[(0, 512)]);
    let mut cache = PageCache::EMPTY;
    pages.allocate(&mut cache, PageCount(1)).unwrap();
    assert_eq!(cache.allocate(PageCount(60)).map(|run| run.first.0), Some(1));
    assert_eq!(all(&pages, Effort::Full, RUNS), [(64, 448)]);
    // Three pages were left.
    assert_eq!(pages.allocate(&mut cache, PageCount(4)).map(|run| run.scavenged.0), Ok(4));
    assert_eq!(all(&pages, Effort::Full, RUNS), [(61, 3)]);
}

#[test]
fn freed_pages_and_fresh_ones_of_a_cache_are_told_apart() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(512)).unwrap();
    pages.grow(PageIndex(0), PageCount(512)).unwrap();
    let mut cache = PageCache::EMPTY;
    for _ in 0..3 {
        pages.allocate(&mut cache, PageCount(1)).unwrap();
    }
    // Freed while the rest of the block is cached, it does not go to the cache.
    give(&pages, &[(1, 1)]);
    assert_eq!(cache.get(PageIndex(1)), None);
    pages.flush(&mut cache);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(1, 1)]);
    give(&pages, &[(0, 1), (2, 1)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(2, 1), (0, 1)]);
}

#[test]
fn fresh_pages_are_never_offered() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(5000)).unwrap();
    pages.grow(PageIndex(0), PageCount(2000)).unwrap();
    let lock_acquisitions = pages.stats().lock_acquisitions;
    assert_eq!(all(&pages, Effort::Full, HUGE), []);
    // Nobody was disturbed to find that out.
    assert_eq!(pages.stats().lock_acquisitions, lock_acquisitions);
    // Nor are those that were in a cache and came back untouched.
    let mut cache = PageCache::EMPTY;
    let run = pages.allocate(&mut cache, PageCount(1)).unwrap();
    pages.flush(&mut cache);
    assert_eq!(all(&pages, Effort::Full, RUNS), []);
    pages.free(run.first, run.count).unwrap();
    pages.grow(PageIndex(2000), PageCount(3000)).unwrap();
    assert_eq!(all(&pages, Effort::Full, RUNS), [(0, 1)]);
}

#[test]
fn a_page_that_was_released_and_used_again_is_offered_again() {
    let pages = free(512, &[(200, 20)]);
    for _ in 0..3 {
        assert_eq!(all(&pages, Effort::Full, RUNS), [(200, 20)]);
        let run = pages.allocate(&mut PageCache::default(), PageCount(20)).unwrap();
        assert_eq!((run.first.0, run.scavenged.0), (200, 20));
        assert_eq!(all(&pages, Effort::Full, RUNS), []);
        give(&pages, &[(200, 20)]);
    }
}

#[test]
fn what_is_being_released_is_not_handed_out() {
    let mut pages: PageAllocator<Bits48> = fresh(512);
    pages.claim(PageIndex(0), PageCount(512)).unwrap();
    pages.free(PageIndex(0), PageCount(512)).unwrap();
    let release = pages.begin_release(ChunkIndex(0), at_most(500, RUNS)).unwrap();
    assert_eq!(pages.allocate(PageCount(13)).ok(), None);
    assert_eq!(pages.allocate(PageCount(12)).map(|run| run.first.0), Ok(0));
    assert_eq!(pages.begin_release(ChunkIndex(0), HUGE), None);
    pages.is_valid().unwrap();
    pages.end_release(release, true);
    pages.is_valid().unwrap();
    let run = pages.allocate(PageCount(500)).unwrap();
    assert_eq!((run.first.0, run.scavenged.0), (12, 500));
}

#[test]
fn pages_that_are_being_released_are_not_in_use() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(512)).unwrap();
    pages.grow(PageIndex(0), PageCount(512)).unwrap();
    let run = pages.allocate_uncached(PageCount(512)).unwrap();
    pages.free(run.first, PageCount(300)).unwrap();
    assert!(!pages.is_releasing());
    for taken in [false, true] {
        let policy = ReleasePolicy { most: PageCount(1000), huge_pages: false };
        let done = pages.scavenge(Effort::Full, policy, |first, count| {
            assert_eq!((first, count), (PageIndex(0), PageCount(300)));
            assert!(pages.is_releasing());
            assert_eq!((pages.in_use(), pages.stats().free), (PageCount(212), PageCount(0)));
            taken
        });
        assert_eq!(done, Some((PageCount(300), taken)));
        assert!(!pages.is_releasing());
        assert_eq!((pages.in_use(), pages.stats().free), (PageCount(212), PageCount(300)));
    }
}
