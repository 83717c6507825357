//! The pages that are released, their order, and the pages that are not: exact pages for constructed states. Invariant:
//! an offered page is free, may be resident (or completes a free huge page), and is in no cache. The order, and that
//! dense chunks rest, are those of the Go page allocator proposal and of Go's scavenger index.

use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, Effort, PageCache, PageCount, PageIndex, ScavengePolicy, SharedPages};

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
