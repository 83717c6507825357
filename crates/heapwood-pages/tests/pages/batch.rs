//! Frees in batches: the places and the order of runs, and batches with one wrong run. Invariant: a batch has the
//! effect of its single frees. Batches are from the Go page allocator proposal.

use crate::common::{ENTRY, new, seen};
use heapwood_pages::{Bits48, PageAllocator, PageCount, PageIndex};

type Runs = Vec<(PageIndex, PageCount)>;

fn runs(of: &[(usize, usize)]) -> Runs {
    of.iter().map(|&(first, count)| (PageIndex(first), PageCount(count))).collect()
}

/// Pages that are all in use, in these regions.
fn used(reservation: usize, regions: &[(usize, usize)]) -> PageAllocator<Bits48> {
    let mut pages = new::<Bits48>(reservation);
    for (first, count) in runs(regions) {
        pages.grow(first, count).unwrap();
        pages.claim(first, count);
    }
    pages
}

/// Frees the same runs in a batch and one by one, and compares the results.
fn as_one_by_one(reservation: usize, region: (usize, usize), batch: &[(usize, usize)]) {
    let (mut together, mut single) = (used(reservation, &[region]), used(reservation, &[region]));
    together.free_batch(&runs(batch)).unwrap();
    together.is_valid().unwrap_or_else(|e| panic!("{batch:?}: {e}"));
    for (first, count) in runs(batch) {
        single.free(first, count).unwrap();
    }
    assert_eq!(seen(&together), seen(&single), "{batch:?}");
    let mut used = (region.0..region.0 + region.1).map(PageIndex);
    assert!(used.all(|page| together.is_in_use(page) == single.is_in_use(page)), "{batch:?}");
    assert_eq!(together.scavenged_pages(), PageCount(0), "what is freed has memory");
}

#[test]
fn batches_are_freed_as_one_by_one() {
    for batch in [
        &[(510, 4), (1024, 1), (1535, 2), (4999, 1)][..],
        // Chunks alternate, so that each is left and returned to.
        &[(0, 1), (600, 1), (2, 1), (602, 1), (1, 1), (601, 1)],
        // A run that crosses a chunk boundary, after one in the first chunk and before one in the second.
        &[(500, 5), (505, 1100), (1605, 5)],
        &[(2000, 3000), (0, 2000)],
    ] {
        as_one_by_one(5000, (0, 5000), batch);
    }
    for at in ENTRY {
        // One run across the boundary of a level; two that meet there; two that only touch its other side.
        for batch in
            [&[(at - 3, 6)][..], &[(at - 3, 3), (at, 3)], &[(at, 3), (at - 3, 3)], &[(at - 4, 3), (at, 3)]]
        {
            as_one_by_one(2 * at, (at - 100, 200), batch);
        }
    }
}

/// The runs before the wrong one are freed, and the allocator is as it should be.
#[test]
fn a_batch_names_its_first_wrong_page() {
    // Page 2000 is free; pages 6000 to 7000 do not exist.
    let good = [(100, 3), (104, 1), (510, 5), (1900, 10), (2001, 9), (2500, 2000), (99, 1), (7999, 1)];
    let (most, twice) = (usize::MAX, (105, 1));
    let wrong = [
        ((2000, 1), 2000),
        ((1950, 51), 2000),
        ((6500, 1), 6500),
        ((5990, 11), 6000),
        ((6999, 2), 6999),
        ((7990, 11), 8000),
        ((8001, 1), 8001),
        ((most, 1), most),
        ((1, most), 8000),
        ((1000, 0), 1000),
    ];
    for (run, page) in wrong {
        for place in 0..=good.len() {
            let mut pages = used(8000, &[(0, 6000), (7000, 1000)]);
            pages.free(PageIndex(2000), PageCount(1)).unwrap();
            let mut batch = good.to_vec();
            batch.insert(place, run);
            batch.extend([twice, twice]);
            assert_eq!(pages.free_batch(&runs(&batch)).unwrap_err().page.0, page, "{batch:?}");
            pages.is_valid().unwrap_or_else(|e| panic!("{batch:?}: {e}"));
            let freed: usize = good[..place].iter().map(|run| run.1).sum();
            assert_eq!(pages.free_pages().0, freed + 1);
        }
    }
    // A page twice: one run inside another, or over the end of another across chunks.
    for (batch, page) in [(vec![(100, 30), (700, 5), (110, 1)], 110), (vec![(500, 600), (1099, 2)], 1099)] {
        let mut pages = used(5000, &[(0, 5000)]);
        assert_eq!(pages.free_batch(&runs(&batch)).unwrap_err().page.0, page, "{batch:?}");
        pages.is_valid().unwrap();
    }
}
