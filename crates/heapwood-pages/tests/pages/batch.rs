//! Frees in batches: the places and the order of runs, and batches with one wrong run. Invariant: a batch has the
//! effect of its single frees, or none. Batches are from the Go page allocator proposal.

use crate::common::{ENTRY, fresh, new, seen};
use heapwood_pages::{Bits48, FreeError, PageAllocator, PageCount, PageIndex};

type Runs = Vec<(PageIndex, PageCount)>;

fn runs(of: &[(usize, usize)]) -> Runs {
    of.iter().map(|&(first, count)| (PageIndex(first), PageCount(count))).collect()
}

/// Pages that are all in use, in these regions.
fn used(reservation: usize, regions: &[(usize, usize)]) -> PageAllocator<Bits48> {
    let mut pages = new::<Bits48>(reservation);
    for (first, count) in runs(regions) {
        pages.grow(first, count).unwrap();
        pages.claim(first, count).unwrap();
    }
    pages
}

/// Frees the same runs in a batch and one by one, and compares the results.
fn as_one_by_one(
    reservation: usize,
    regions: &[(usize, usize)],
    batch: &[(usize, usize)],
) -> PageAllocator<Bits48> {
    let (mut together, mut single) = (used(reservation, regions), used(reservation, regions));
    together.free_batch(&runs(batch)).unwrap();
    together.is_valid().unwrap_or_else(|e| panic!("{batch:?}: {e}"));
    for (first, count) in runs(batch) {
        single.free(first, count).unwrap();
    }
    assert_eq!(seen(&together), seen(&single), "{batch:?}");
    for (first, end) in regions.iter().map(|&(first, count)| (first, first + count)) {
        for page in (first..end).map(PageIndex) {
            assert_eq!(together.is_in_use(page), single.is_in_use(page), "{page}");
        }
    }
    assert_eq!(together.scavenged_pages(), PageCount(0), "what is freed has memory");
    together
}

#[test]
fn runs_of_one_chunk_are_freed_as_one_by_one() {
    let all = &[(0, 2048)];
    let pages = as_one_by_one(2048, all, &[(512, 1), (520, 3), (575, 2), (640, 64), (1023, 1)]);
    assert_eq!((pages.free_pages().0, pages.hint()), (71, PageIndex(512)));
    // In descending order, and adjacent runs.
    as_one_by_one(2048, all, &[(1023, 1), (640, 64), (575, 2), (520, 3), (512, 1)]);
    let mut pages = as_one_by_one(2048, all, &[(610, 10), (590, 10), (600, 10)]);
    assert_eq!(pages.allocate(PageCount(30)).map(|run| run.first.0), Ok(590));
    // A whole chunk, page by page.
    let each: Vec<(usize, usize)> = (512..1024).map(|page| (page, 1)).collect();
    let mut pages = as_one_by_one(2048, all, &each);
    assert_eq!(pages.allocate(PageCount(512)).map(|run| run.first.0), Ok(512));
}

#[test]
fn runs_of_several_chunks_are_freed_as_one_by_one() {
    let all = &[(0, 5000)];
    as_one_by_one(5000, all, &[(510, 4), (1024, 1), (1535, 2), (4999, 1)]);
    // Chunks alternate, so that each is left and returned to.
    as_one_by_one(5000, all, &[(0, 1), (600, 1), (2, 1), (602, 1), (1, 1), (601, 1)]);
    // A run that crosses a chunk boundary, after one in the first chunk and before one in the second.
    let mut pages = as_one_by_one(5000, all, &[(500, 5), (505, 1100), (1605, 5)]);
    assert_eq!(pages.allocate(PageCount(1110)).map(|run| run.first.0), Ok(500));
    let mut pages = as_one_by_one(5000, all, &[(2000, 3000), (0, 2000)]);
    assert_eq!(pages.allocate(PageCount(5000)).map(|run| run.first.0), Ok(0));
}

#[test]
fn runs_across_the_boundary_of_every_level_are_freed_as_one_by_one() {
    for (level, at) in ENTRY.into_iter().enumerate() {
        let regions = &[(at - 100, 200)];
        // One run across the boundary; two that meet there.
        for batch in [&[(at - 3, 6)][..], &[(at - 3, 3), (at, 3)], &[(at, 3), (at - 3, 3)]] {
            let mut pages = as_one_by_one(2 * at, regions, batch);
            assert_eq!(pages.free_pages().0, 6, "level {level}");
            assert_eq!(pages.allocate(PageCount(6)).map(|run| run.first.0), Ok(at - 3), "level {level}");
            pages.is_valid().unwrap();
        }
        // Runs that only touch its other side do not join.
        let mut pages = as_one_by_one(2 * at, regions, &[(at - 4, 3), (at, 3)]);
        assert_eq!(pages.allocate(PageCount(4)).ok(), None, "level {level}");
    }
}

#[test]
fn whole_huge_regions_are_freed_as_one_by_one() {
    // Two whole entries of the root and some of a third, in one run among small ones.
    const RESERVATION: usize = 4 << 21;
    let mut pages = fresh::<Bits48>(RESERVATION);
    pages.claim(PageIndex(0), PageCount(RESERVATION)).unwrap();
    let long = (5, (2 << 21) + 100);
    pages.free_batch(&runs(&[(1, 1), long, (RESERVATION - 1, 1), (3, 1)])).unwrap();
    pages.is_valid().unwrap();
    assert_eq!((pages.free_pages().0, pages.hint()), (long.1 + 3, PageIndex(1)));
    assert!(pages.is_in_use(PageIndex(4)) && pages.is_in_use(PageIndex(5 + long.1)));
    assert_eq!(pages.allocate(PageCount(long.1 + 1)).ok(), None);
    assert_eq!(pages.allocate(PageCount(long.1)).map(|run| run.first.0), Ok(5));
    // The rest, so that all is free again, in another order of root entries.
    pages.free_batch(&runs(&[(5, long.1)])).unwrap();
    pages.claim(PageIndex(0), PageCount(1)).unwrap_err();
    let rest = [(5 + long.1, RESERVATION - 1 - 5 - long.1), (0, 1), (4, 1), (2, 1)];
    pages.free_batch(&runs(&rest)).unwrap();
    pages.is_valid().unwrap();
    assert_eq!(pages.allocate(PageCount(RESERVATION)).map(|run| run.first.0), Ok(0));
}

#[test]
fn an_empty_batch_succeeds() {
    let mut pages = used(1000, &[(0, 1000)]);
    let state = seen(&pages);
    pages.free_batch(&[]).unwrap();
    assert_eq!(seen(&pages), state);
    pages.is_valid().unwrap();
}

/// One invalid run, in every place of an otherwise valid batch: the error names it, and nothing changes.
fn refused(wrong: (usize, usize), error: FreeError) {
    // Page 2000 is free; pages 6000 to 7000 do not exist.
    let mut pages = used(8000, &[(0, 6000), (7000, 1000)]);
    pages.free(PageIndex(2000), PageCount(1)).unwrap();
    let (state, scavenged) = (seen(&pages), pages.scavenged_pages());
    // Within a chunk, across two, over several whole ones, and next to free pages.
    let good = [(100, 3), (104, 1), (510, 5), (1900, 10), (2001, 9), (2500, 2000), (99, 1), (7999, 1)];
    for place in 0..=good.len() {
        let mut batch = good.to_vec();
        batch.insert(place, wrong);
        assert_eq!(pages.free_batch(&runs(&batch)), Err(error), "{batch:?}");
        assert_eq!((seen(&pages), pages.scavenged_pages()), (state.clone(), scavenged), "{batch:?}");
        pages.is_valid().unwrap_or_else(|e| panic!("{batch:?}: {e}"));
    }
    pages.free_batch(&runs(&good)).unwrap();
    pages.is_valid().unwrap();
}

#[test]
fn a_batch_with_a_free_run_changes_nothing() {
    refused((2000, 1), FreeError::AlreadyFree { page: PageIndex(2000) });
    refused((1950, 51), FreeError::AlreadyFree { page: PageIndex(2000) });
}

#[test]
fn a_batch_with_a_page_never_grown_changes_nothing() {
    refused((6500, 1), FreeError::NotGrown { page: PageIndex(6500) });
    refused((5990, 11), FreeError::NotGrown { page: PageIndex(6000) });
    refused((6999, 2), FreeError::NotGrown { page: PageIndex(6999) });
}

#[test]
fn a_batch_with_a_run_beyond_the_end_changes_nothing() {
    refused((7990, 11), FreeError::BeyondReservation { page: PageIndex(8000) });
    refused((8001, 1), FreeError::BeyondReservation { page: PageIndex(8001) });
    refused((usize::MAX, 1), FreeError::BeyondReservation { page: PageIndex(usize::MAX) });
    refused((1, usize::MAX), FreeError::BeyondReservation { page: PageIndex(8000) });
}

#[test]
fn a_batch_with_an_empty_run_changes_nothing() {
    refused((1000, 0), FreeError::Zero);
}

#[test]
fn a_batch_with_a_page_twice_changes_nothing() {
    // The same run, one inside another, one over the end of another, across chunks; next to each other or apart.
    let twice: [(&[(usize, usize)], usize); 6] = [
        (&[(100, 3), (100, 3)], 100),
        (&[(100, 3), (700, 5), (100, 3)], 100),
        (&[(100, 30), (110, 1)], 110),
        (&[(100, 10), (95, 6)], 100),
        (&[(500, 600), (1500, 1), (1099, 2)], 1099),
        (&[(1023, 2), (0, 1), (1000, 1000)], 1023),
    ];
    for (batch, page) in twice {
        let mut pages = used(5000, &[(0, 5000)]);
        pages.free(PageIndex(3000), PageCount(7)).unwrap();
        let state = seen(&pages);
        let error = FreeError::AlreadyFree { page: PageIndex(page) };
        assert_eq!(pages.free_batch(&runs(batch)), Err(error), "{batch:?}");
        assert_eq!(seen(&pages), state, "{batch:?}");
        pages.is_valid().unwrap_or_else(|e| panic!("{batch:?}: {e}"));
    }
}

#[test]
fn a_failed_batch_across_the_root_changes_nothing() {
    const ROOT: usize = ENTRY[0];
    let mut pages = fresh::<Bits48>(2 * ROOT);
    pages.claim(PageIndex(0), PageCount(2 * ROOT)).unwrap();
    let again = FreeError::AlreadyFree { page: PageIndex(ROOT + 7) };
    let batch = runs(&[(ROOT - 70_000, 140_000), (3, 1), (ROOT + 7, 1)]);
    assert_eq!(pages.free_batch(&batch), Err(again));
    assert_eq!((pages.free_pages().0, pages.hint().0), (0, 2 * ROOT));
    pages.is_valid().unwrap();
    pages.free_batch(&batch[..2]).unwrap();
    assert_eq!(pages.allocate(PageCount(140_000)).map(|run| run.first.0), Ok(ROOT - 70_000));
}
