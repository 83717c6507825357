//! Frees in batches, case by case: where the runs lie and in which order, and what is wrong with one of them.
//! Invariant: a batch does what its frees do one by one, or nothing at all. Batches are from the Go page allocator
//! proposal.

use crate::common::{fresh, new, seen};
use heapwood_pages::{Bits48, FreeError, PageAllocator, PageCount, PageIndex};

/// Pages of an entry of each level of `Bits48`, root first: the first is 16 GiB.
const ENTRY: [usize; 5] = [1 << 21, 1 << 18, 1 << 15, 1 << 12, 1 << 9];

type Runs = Vec<(PageIndex, PageCount)>;

fn runs(of: &[(usize, usize)]) -> Runs {
    of.iter().map(|&(first, count)| (PageIndex(first), PageCount(count))).collect()
}

/// Pages of which all are in use, in these regions.
fn used(window: usize, regions: &[(usize, usize)]) -> PageAllocator<Bits48> {
    let mut pages = new::<Bits48>(window);
    for (first, count) in runs(regions) {
        pages.grow(first, count).unwrap();
        pages.claim(first, count).unwrap();
    }
    pages
}

/// Frees the same runs in a batch and one by one, and compares.
fn as_one_by_one(
    window: usize,
    regions: &[(usize, usize)],
    batch: &[(usize, usize)],
) -> PageAllocator<Bits48> {
    let (mut together, mut single) = (used(window, regions), used(window, regions));
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
fn runs_of_one_chunk() {
    let all = &[(0, 2048)];
    let pages = as_one_by_one(2048, all, &[(512, 1), (520, 3), (575, 2), (640, 64), (1023, 1)]);
    assert_eq!((pages.free_pages().0, pages.hint()), (71, PageIndex(512)));
    // Backwards, and runs that touch one another.
    as_one_by_one(2048, all, &[(1023, 1), (640, 64), (575, 2), (520, 3), (512, 1)]);
    let mut pages = as_one_by_one(2048, all, &[(610, 10), (590, 10), (600, 10)]);
    assert_eq!(pages.allocate(PageCount(30)).map(|run| run.first.0), Ok(590));
    // A whole chunk, page by page.
    let each: Vec<(usize, usize)> = (512..1024).map(|page| (page, 1)).collect();
    let mut pages = as_one_by_one(2048, all, &each);
    assert_eq!(pages.allocate(PageCount(512)).map(|run| run.first.0), Ok(512));
}

#[test]
fn runs_of_several_chunks() {
    let all = &[(0, 5000)];
    as_one_by_one(5000, all, &[(510, 4), (1024, 1), (1535, 2), (4999, 1)]);
    // The chunks take turns, so that each is left and returned to.
    as_one_by_one(5000, all, &[(0, 1), (600, 1), (2, 1), (602, 1), (1, 1), (601, 1)]);
    // A run that leaves its chunk after one in it and before one in the next.
    let mut pages = as_one_by_one(5000, all, &[(500, 5), (505, 1100), (1605, 5)]);
    assert_eq!(pages.allocate(PageCount(1110)).map(|run| run.first.0), Ok(500));
    let mut pages = as_one_by_one(5000, all, &[(2000, 3000), (0, 2000)]);
    assert_eq!(pages.allocate(PageCount(5000)).map(|run| run.first.0), Ok(0));
}

#[test]
fn runs_across_the_boundary_of_every_level() {
    for (level, at) in ENTRY.into_iter().enumerate() {
        let regions = &[(at - 100, 200)];
        // One run across; two that meet there, from either side.
        for batch in [&[(at - 3, 6)][..], &[(at - 3, 3), (at, 3)], &[(at, 3), (at - 3, 3)]] {
            let mut pages = as_one_by_one(2 * at, regions, batch);
            assert_eq!(pages.free_pages().0, 6, "level {level}");
            assert_eq!(pages.allocate(PageCount(6)).map(|run| run.first.0), Ok(at - 3), "level {level}");
            pages.is_valid().unwrap();
        }
        // Runs that only touch other sides of it do not join.
        let mut pages = as_one_by_one(2 * at, regions, &[(at - 4, 3), (at, 3)]);
        assert_eq!(pages.allocate(PageCount(4)).ok(), None, "level {level}");
    }
}

#[test]
fn whole_huge_regions() {
    // Two whole entries of the root and some of a third, in one run among small ones.
    const WINDOW: usize = 4 << 21;
    let mut pages = fresh::<Bits48>(WINDOW);
    pages.claim(PageIndex(0), PageCount(WINDOW)).unwrap();
    let long = (5, (2 << 21) + 100);
    pages.free_batch(&runs(&[(1, 1), long, (WINDOW - 1, 1), (3, 1)])).unwrap();
    pages.is_valid().unwrap();
    assert_eq!((pages.free_pages().0, pages.hint()), (long.1 + 3, PageIndex(1)));
    assert!(pages.is_in_use(PageIndex(4)) && pages.is_in_use(PageIndex(5 + long.1)));
    assert_eq!(pages.allocate(PageCount(long.1 + 1)).ok(), None);
    assert_eq!(pages.allocate(PageCount(long.1)).map(|run| run.first.0), Ok(5));
    // The rest, so that all is free again, by entries of the root in an order of their own.
    pages.free_batch(&runs(&[(5, long.1)])).unwrap();
    pages.claim(PageIndex(0), PageCount(1)).unwrap_err();
    let rest = [(5 + long.1, WINDOW - 1 - 5 - long.1), (0, 1), (4, 1), (2, 1)];
    pages.free_batch(&runs(&rest)).unwrap();
    pages.is_valid().unwrap();
    assert_eq!(pages.allocate(PageCount(WINDOW)).map(|run| run.first.0), Ok(0));
}

#[test]
fn an_empty_batch() {
    let mut pages = used(1000, &[(0, 1000)]);
    let state = seen(&pages);
    pages.free_batch(&[]).unwrap();
    assert_eq!(seen(&pages), state);
    pages.is_valid().unwrap();
}

/// One run at fault, in every place of a batch that is otherwise in order: it is named, and nothing has changed.
fn refused(wrong: (usize, usize), error: FreeError) {
    // Page 2000 is free; nothing from 6000 to 7000 was grown.
    let mut pages = used(8000, &[(0, 6000), (7000, 1000)]);
    pages.free(PageIndex(2000), PageCount(1)).unwrap();
    let (state, scavenged) = (seen(&pages), pages.scavenged_pages());
    // Within a chunk, across two, over several whole ones, and some that touch free pages.
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
fn a_run_that_is_free_already_changes_nothing() {
    refused((2000, 1), FreeError::AlreadyFree { page: PageIndex(2000) });
    refused((1950, 51), FreeError::AlreadyFree { page: PageIndex(2000) });
}

#[test]
fn a_page_never_grown_changes_nothing() {
    refused((6500, 1), FreeError::NotGrown { page: PageIndex(6500) });
    refused((5990, 11), FreeError::NotGrown { page: PageIndex(6000) });
    refused((6999, 2), FreeError::NotGrown { page: PageIndex(6999) });
}

#[test]
fn a_run_beyond_the_window_changes_nothing() {
    refused((7990, 11), FreeError::BeyondWindow { page: PageIndex(8000) });
    refused((8001, 1), FreeError::BeyondWindow { page: PageIndex(8001) });
    refused((usize::MAX, 1), FreeError::BeyondWindow { page: PageIndex(usize::MAX) });
    refused((1, usize::MAX), FreeError::BeyondWindow { page: PageIndex(8000) });
}

#[test]
fn a_run_of_nothing_changes_nothing() {
    refused((1000, 0), FreeError::Zero);
}

#[test]
fn a_page_twice_changes_nothing() {
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
fn a_refusal_across_the_root_changes_nothing() {
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
