//! The pages that are released, their order, and the pages that are not: exact pages for constructed states. Invariant:
//! an offered page is free, may be resident (or completes a free huge page), and is in no cache. The order, and that
//! dense chunks rest, are those of the Go page allocator proposal and of Go's scavenger index.

use crate::common::{fresh, new};
use heapwood_os::SYSTEM;
use heapwood_pages::{
    Bits48, ChunkIndex, Effort, PageCache, PageCount, PageIndex, ScavengePolicy, SharedPages,
};

/// Everything, by runs; huge pages are treated like other runs.
const RUNS: ScavengePolicy = ScavengePolicy { most: PageCount(usize::MAX), huge_pages: false };

/// Whole huge pages first.
const HUGE: ScavengePolicy = ScavengePolicy { most: PageCount(usize::MAX), huge_pages: true };

const fn at_most(most: usize, policy: ScavengePolicy) -> ScavengePolicy {
    ScavengePolicy { most: PageCount(most), huge_pages: policy.huge_pages }
}

/// Pages that all exist and are in use, and so are resident.
fn used(pages: usize) -> SharedPages<Bits48> {
    let shared = SharedPages::new(&SYSTEM, PageCount(pages)).unwrap();
    shared.grow(PageIndex(0), PageCount(pages)).unwrap();
    let mut cache = PageCache::EMPTY;
    shared.allocate(&mut cache, PageCount(pages)).unwrap();
    assert!(cache.is_empty());
    shared
}

/// Pages in use, except these, which are free and resident.
fn free(pages: usize, ranges: &[(usize, usize)]) -> SharedPages<Bits48> {
    let shared = used(pages);
    free_ranges(&shared, ranges);
    shared
}

fn free_ranges(pages: &SharedPages<Bits48>, ranges: &[(usize, usize)]) {
    for &(first, count) in ranges {
        pages.free(PageIndex(first), PageCount(count)).unwrap();
    }
}

/// One release, which the kernel grants or not: the first page and the number of pages.
fn release(
    pages: &SharedPages<Bits48>,
    effort: Effort,
    policy: ScavengePolicy,
    taken: bool,
) -> Option<(usize, usize)> {
    let mut about = None;
    let before = pages.stats();
    let done = pages.scavenge(effort, policy, |first, count| {
        // Meanwhile they count as in use.
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

/// All releases in order, up to a bound that no test reaches.
fn all(pages: &SharedPages<Bits48>, effort: Effort, policy: ScavengePolicy) -> Vec<(usize, usize)> {
    core::iter::from_fn(|| release(pages, effort, policy, true)).take(100).collect()
}

#[test]
fn the_highest_address_is_released_first() {
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
fn without_huge_pages_the_highest_run_is_released_in_parts() {
    // A run over two chunks is two; each part is the end of the rest.
    let pages = free(1024, &[(300, 500)]);
    let pieces = [(700, 100), (600, 100), (512, 88), (412, 100), (312, 100), (300, 12)];
    assert_eq!(all(&pages, Effort::Full, at_most(100, RUNS)), pieces);
    let pages = free(1024, &[(300, 500)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(512, 288), (300, 212)]);
    // Two free huge pages are one run.
    let pages = free(512, &[(0, 512)]);
    assert_eq!(all(&pages, Effort::Full, at_most(500, RUNS)), [(12, 500), (0, 12)]);
    // At least one page, whatever was requested.
    let pages = free(512, &[(5, 2)]);
    assert_eq!(all(&pages, Effort::Full, at_most(0, RUNS)), [(6, 1), (5, 1)]);
}

#[test]
fn a_free_huge_page_is_released_first_and_whole() {
    let ranges = [(0, 256), (300, 10), (500, 12)];
    let pages = free(512, &ranges);
    assert_eq!(
        all(&pages, Effort::Full, at_most(8, HUGE)),
        [(0, 256), (504, 8), (500, 4), (302, 8), (300, 2)]
    );
    // The same without huge pages: no run is longer than requested.
    let pages = free(512, &ranges);
    assert_eq!(release(&pages, Effort::Full, at_most(8, RUNS), true), Some((504, 8)));
    // The higher of two; a run of 256 pages that is no huge page is an ordinary run.
    let pages = free(1024, &[(0, 512), (600, 256)]);
    let pieces = [(600, 256), (256, 256), (0, 256)];
    assert_eq!(all(&pages, Effort::Full, HUGE), pieces);
}

#[test]
fn a_partly_scavenged_free_huge_page_is_released_whole() {
    let mut pages = fresh::<Bits48>(512);
    for page in [100, 300] {
        pages.claim(PageIndex(page), PageCount(1));
    }
    // Page 100 is resident; page 300 is in use.
    pages.free(PageIndex(100), PageCount(1)).unwrap();
    assert_eq!(pages.scavenged_pages().0, 510);
    let release = pages.begin_release(ChunkIndex(0), at_most(1, HUGE)).unwrap();
    assert_eq!((release.first, release.count.0, release.resident.0), (PageIndex(0), 256, 1));
    pages.is_valid().unwrap();
    assert_eq!((pages.free_pages().0, pages.scavenged_pages().0), (255, 255));
    pages.end_release(release, true);
    pages.is_valid().unwrap();
    assert_eq!((pages.free_pages().0, pages.scavenged_pages().0), (511, 511));
    assert_eq!(pages.begin_release(ChunkIndex(0), HUGE), None);
    // Without huge pages, only resident pages.
    pages.free(PageIndex(300), PageCount(1)).unwrap();
    let release = pages.begin_release(ChunkIndex(0), RUNS).unwrap();
    assert_eq!((release.first, release.count.0, release.resident.0), (PageIndex(300), 1, 1));
    pages.end_release(release, true);
    assert_eq!(pages.scavenged_pages().0, 512);
}

#[test]
fn a_huge_page_with_one_page_in_use_is_split_after_whole_ones() {
    // The upper huge page would come first by address, but page 400 is in use.
    let pages = free(512, &[(0, 256), (256, 144), (401, 111)]);
    assert_eq!(all(&pages, Effort::Full, HUGE), [(0, 256), (401, 111), (256, 144)]);
    // With the last page of the lower one in use, only a split is left.
    let pages = free(512, &[(0, 255), (256, 144), (401, 111)]);
    assert_eq!(all(&pages, Effort::Full, HUGE), [(401, 111), (256, 144), (0, 255)]);
    // Without huge pages there is no reason to wait.
    let pages = free(512, &[(0, 256), (256, 144), (401, 111)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(401, 111), (0, 400)]);
}

#[test]
fn dense_begins_at_31_of_32() {
    for (in_use, dense) in [(495, false), (496, true), (512, true), (0, false)] {
        let mut pages = fresh::<Bits48>(1024);
        if in_use > 0 {
            pages.claim(PageIndex(512), PageCount(in_use));
        }
        assert_eq!(pages.is_dense(ChunkIndex(1)), dense, "{in_use}");
    }
    // Missing pages cannot be released either.
    let mut pages = new::<Bits48>(1024);
    pages.grow(PageIndex(0), PageCount(16)).unwrap();
    assert!(pages.is_dense(ChunkIndex(0)) && pages.is_dense(ChunkIndex(1)) && pages.is_dense(ChunkIndex(2)));
    pages.grow(PageIndex(16), PageCount(1)).unwrap();
    assert!(!pages.is_dense(ChunkIndex(0)));
}

#[test]
fn a_chunk_that_was_dense_waits_for_two_cycles() {
    // Cycles that passed before do not matter.
    for passed in [0, 1, 2, 5] {
        let pages = used(512);
        (0..passed).for_each(|_| pages.new_cycle());
        free_ranges(&pages, &[(100, 200)]);
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None, "in the cycle in which it was dense");
        pages.new_cycle();
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None, "in the next");
        pages.new_cycle();
        assert_eq!(release(&pages, Effort::Gentle, RUNS, true), Some((100, 200)), "but not after");
    }
    // At full effort, at once.
    for cycles in 0..2 {
        let pages = free(512, &[(100, 200)]);
        (0..cycles).for_each(|_| pages.new_cycle());
        assert_eq!(release(&pages, Effort::Full, RUNS, true), Some((100, 200)));
    }
}

#[test]
fn more_frees_do_not_change_the_wait() {
    let pages = free(512, &[(100, 200)]);
    free_ranges(&pages, &[(300, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
    pages.new_cycle();
    // It is not dense any more, but was in the cycle before.
    free_ranges(&pages, &[(310, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
    free_ranges(&pages, &[(320, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), None);
    pages.new_cycle();
    free_ranges(&pages, &[(330, 10)]);
    assert_eq!(release(&pages, Effort::Gentle, RUNS, true), Some((100, 240)));
}

#[test]
fn a_waiting_chunk_does_not_hide_those_below() {
    let pages = used(1536);
    free_ranges(&pages, &[(0, 200), (512, 200)]);
    (0..2).for_each(|_| pages.new_cycle());
    // The highest was dense just now, the middle one is dense for a moment, the lowest has long been half empty.
    free_ranges(&pages, &[(1024, 200)]);
    let mut cache = PageCache::EMPTY;
    let lowest = pages.allocate(&mut cache, PageCount(200)).unwrap();
    let middle = pages.allocate(&mut cache, PageCount(190)).unwrap();
    assert_eq!((lowest.first.0, middle.first.0), (0, 512));
    free_ranges(&pages, &[(0, 100)]);
    (0..2).for_each(|_| pages.new_cycle());
    free_ranges(&pages, &[(1224, 1)]);
    let offered = all(&pages, Effort::Gentle, RUNS);
    assert_eq!(offered, [(1024, 201), (0, 100)]);
    assert_eq!(all(&pages, Effort::Full, RUNS), [(702, 10)]);
}

#[test]
fn pages_that_are_being_released_are_not_in_use() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(512)).unwrap();
    pages.grow(PageIndex(0), PageCount(512)).unwrap();
    let run = pages.allocate_uncached(PageCount(512)).unwrap();
    pages.free(run.first, PageCount(300)).unwrap();
    assert!(!pages.is_releasing());
    for taken in [false, true] {
        let policy = ScavengePolicy { most: PageCount(1000), huge_pages: false };
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
