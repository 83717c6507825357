//! The boundaries of words, chunks and levels, one by one. Only tables exist here: a page index stands for 8 KiB that
//! nobody maps, so reservations of many TiB are cheap.

use crate::common::{ALL, ENTRY, fresh, new, only_free, seen};
use heapwood_pages::{
    AllocateError, Bits32, Bits48, FreeError, GrowError, NewError, PageAllocator, PageCount, PageIndex, Tiny,
};

/// The run of `before + after` pages around `at` is found whole, among runs that are one page too short, and can be
/// freed again.
fn finds_around(reservation: usize, at: usize, before: usize, after: usize) {
    let (first, count) = (at - before, before + after);
    let decoys = [(first - count - 2, count - 1), (first + count + 2, count - 1)];
    let mut pages = only_free(reservation, &[decoys[0], (first, count), decoys[1]]);
    let state = seen(&pages);
    assert_eq!(pages.allocate(PageCount(count)).map(|run| run.first), Ok(PageIndex(first)));
    pages.is_valid().unwrap();
    assert!(matches!(pages.allocate(PageCount(count)), Err(AllocateError::NoRun { .. })));
    pages.free(PageIndex(first), PageCount(count)).unwrap();
    pages.is_valid().unwrap();
    assert_eq!(seen(&pages), state);
}

#[test]
fn runs_within_a_word_are_found() {
    finds_around(1024, 32, 5, 6);
}

#[test]
fn runs_across_words_are_found() {
    finds_around(1024, 128, 7, 9);
    finds_around(1024, 320, 63, 10);
    finds_around(2048, 640, 64, 64);
}

#[test]
fn runs_of_whole_words_are_found() {
    finds_around(1024, 256, 64, 0);
    finds_around(2048, 768, 128, 64);
}

#[test]
fn runs_across_chunks_are_found() {
    finds_around(4096, 1024, 3, 2);
    finds_around(4096, 1536, 300, 200);
}

#[test]
fn a_whole_chunk_and_several_are_found() {
    finds_around(8192, 2048, 512, 0);
    finds_around(16384, 6144, 1000, 1100);
}

#[test]
fn runs_across_entries_of_the_level_above_the_chunks_are_found() {
    finds_around(1 << 14, ENTRY[3], 10, 20);
    finds_around(1 << 14, ENTRY[3] * 2, 700, 900);
}

#[test]
fn runs_across_entries_of_the_middle_level_are_found() {
    finds_around(1 << 17, ENTRY[2], 1, 1);
    finds_around(1 << 17, ENTRY[2] * 2, 5000, 6000);
}

#[test]
fn runs_across_entries_of_the_level_below_the_root_are_found() {
    finds_around(1 << 20, ENTRY[1], 2, 1);
    finds_around(1 << 20, ENTRY[1], 40_000, 33_000);
}

#[test]
fn runs_across_entries_of_the_root_are_found() {
    finds_around(1 << 22, ENTRY[0], 1, 2);
    finds_around(1 << 22, ENTRY[0], 300_000, 290_000);
}

#[test]
fn a_full_entry_between_two_others_is_no_bridge() {
    // In every level: 4 pages before and 4 after a full entry are not 8, which come two entries later.
    for (level, entry) in ENTRY.into_iter().enumerate() {
        let later = 6 * entry + 5;
        let mut pages = only_free(8 * entry, &[(3 * entry - 4, 4), (4 * entry, 4), (later, 8)]);
        assert_eq!(pages.allocate(PageCount(8)).map(|run| run.first), Ok(PageIndex(later)), "level {level}");
        pages.is_valid().unwrap();
    }
}

#[test]
fn a_run_longer_than_an_entry_of_the_root_is_found() {
    // 2^21 is the count that needs the top bit; one more takes the next entry in.
    let mut pages = fresh::<Bits48>(3 << 21);
    for count in [(1 << 21) - 1, 1 << 21, (1 << 21) + 1, (2 << 21) + 5, 3 << 21] {
        assert_eq!(pages.allocate(PageCount(count)).map(|run| run.first), Ok(PageIndex(0)));
        pages.is_valid().unwrap();
        pages.free(PageIndex(0), PageCount(count)).unwrap();
        pages.is_valid().unwrap();
    }
    pages.claim(PageIndex(0), PageCount(1)).unwrap();
    assert_eq!(pages.allocate(PageCount(2 << 21)).map(|run| run.first), Ok(PageIndex(1)));
    assert_eq!(pages.allocate(PageCount(1 << 21)).ok(), None);
    assert_eq!(pages.allocate(PageCount((1 << 21) - 1)).map(|run| run.first), Ok(PageIndex((2 << 21) + 1)));
    assert_eq!(pages.free_pages(), PageCount(0));
    pages.is_valid().unwrap();
}

#[test]
fn the_first_and_the_last_page_of_the_address_space_are_found() {
    let mut pages = new::<Bits48>(ALL);
    pages.grow(PageIndex(ALL - 1), PageCount(1)).unwrap();
    pages.grow(PageIndex(0), PageCount(1)).unwrap();
    assert_eq!(pages.hint(), PageIndex(0));
    assert!(matches!(pages.allocate(PageCount(2)), Err(AllocateError::NoRun { .. })));
    assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex(0)));
    assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex(ALL - 1)));
    assert!(pages.is_in_use(PageIndex(ALL - 1)) && !pages.is_in_use(PageIndex(ALL)));
    assert!(matches!(pages.allocate(PageCount(1)), Err(AllocateError::NoRun { .. })));
    pages.free(PageIndex(ALL - 1), PageCount(1)).unwrap();
    assert_eq!(pages.hint(), PageIndex(ALL - 1));
    assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex(ALL - 1)));
    pages.is_valid().unwrap();
    let beyond = Err(FreeError::BeyondReservation { page: PageIndex(ALL) });
    assert_eq!(pages.free(PageIndex(ALL - 1), PageCount(2)), beyond);
    assert_eq!(pages.free(PageIndex(usize::MAX), PageCount(usize::MAX)).ok(), None);
    assert_eq!(pages.grow(PageIndex(usize::MAX), PageCount(1)).ok(), None);
}

#[test]
fn a_32_bit_address_space_is_allocated_whole() {
    let mut pages = fresh::<Bits32>(1 << 19);
    assert_eq!(pages.allocate(PageCount(1 << 18)).map(|run| run.first), Ok(PageIndex(0)));
    assert_eq!(pages.allocate(PageCount(1 << 18)).map(|run| run.first), Ok(PageIndex(1 << 18)));
    pages.is_valid().unwrap();
    pages.free(PageIndex(1000), PageCount((1 << 19) - 2000)).unwrap();
    pages.is_valid().unwrap();
    assert_eq!(pages.allocate(PageCount((1 << 19) - 2000)).map(|run| run.first), Ok(PageIndex(1000)));
    pages.is_valid().unwrap();
}

#[test]
fn the_end_may_be_anywhere() {
    for reservation in [1, 2, 511, 512, 513, 4095, 4097, 40_000] {
        let mut pages = fresh::<Bits48>(reservation);
        pages.is_valid().unwrap();
        assert_eq!(pages.allocate(PageCount(reservation)).map(|run| run.first), Ok(PageIndex(0)));
        pages.free(PageIndex(reservation - 1), PageCount(1)).unwrap();
        assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex(reservation - 1)));
        let beyond = Err(GrowError::BeyondReservation { page: PageIndex(reservation) });
        assert_eq!(pages.grow(PageIndex(reservation), PageCount(1)), beyond);
        pages.is_valid().unwrap();
    }
    let mut nothing = new::<Bits48>(0);
    assert!(matches!(nothing.allocate(PageCount(1)), Err(AllocateError::BeyondReservation { .. })));
    nothing.is_valid().unwrap();
}

#[test]
fn a_reservation_larger_than_the_geometry_is_refused() {
    let refused = PageAllocator::<Tiny>::new(&heapwood_os::SYSTEM, PageCount(33)).unwrap_err();
    assert_eq!(refused, NewError::ReservationTooLarge { reservation: PageCount(33), most: PageCount(32) });
    assert!(refused.to_string().contains("33 pages"), "{refused}");
}

#[test]
fn adjacent_regions_join() {
    let mut pages = new::<Bits48>(1 << 22);
    // In parts that meet inside a word, at a chunk and at the root's first boundary, out of order.
    for (first, end) in
        [(30, 100), (512, 1000), (100, 512), ((1 << 21) - 7, 1 << 21), (1 << 21, (1 << 21) + 9)]
    {
        pages.grow(PageIndex(first), PageCount(end - first)).unwrap();
        pages.is_valid().unwrap();
    }
    assert_eq!(pages.allocate(PageCount(970)).map(|run| run.first), Ok(PageIndex(30)));
    assert_eq!(pages.allocate(PageCount(16)).map(|run| run.first), Ok(PageIndex((1 << 21) - 7)));
    assert_eq!(pages.free_pages(), PageCount(0));
    pages.is_valid().unwrap();
}

#[test]
fn distant_regions_do_not_join() {
    let mut pages = new::<Bits48>(ALL);
    let regions = [5usize << 30, 77, 1 << 25, (1 << 25) + 101, ALL - 100];
    for first in regions {
        pages.grow(PageIndex(first), PageCount(100)).unwrap();
    }
    pages.is_valid().unwrap();
    assert!(matches!(pages.allocate(PageCount(101)), Err(AllocateError::NoRun { .. })));
    let mut sorted = regions;
    sorted.sort();
    for first in sorted {
        assert_eq!(pages.allocate(PageCount(100)).map(|run| run.first), Ok(PageIndex(first)));
    }
    assert_eq!(pages.free_pages(), PageCount(0));
    let missing = Err(FreeError::NotGrown { page: PageIndex(177) });
    assert_eq!(pages.free(PageIndex(170), PageCount(20)), missing);
    let missing = Err(FreeError::NotGrown { page: PageIndex(1 << 29) });
    assert_eq!(pages.free(PageIndex(1 << 29), PageCount(1)), missing);
    pages.is_valid().unwrap();
}

#[test]
fn growing_twice_changes_nothing() {
    let mut pages = new::<Bits48>(1 << 16);
    pages.grow(PageIndex(1000), PageCount(100)).unwrap();
    let state = seen(&pages);
    let again = Err(GrowError::AlreadyGrown { page: PageIndex(1000) });
    assert_eq!(pages.grow(PageIndex(0), PageCount(5000)), again);
    let again = Err(GrowError::AlreadyGrown { page: PageIndex(1099) });
    assert_eq!(pages.grow(PageIndex(1099), PageCount(1)), again);
    assert_eq!(pages.grow(PageIndex(0), PageCount(0)), Err(GrowError::Zero));
    assert_eq!(seen(&pages), state);
    pages.is_valid().unwrap();
    pages.grow(PageIndex(1100), PageCount(3000)).unwrap();
    pages.grow(PageIndex(0), PageCount(1000)).unwrap();
    assert_eq!(pages.allocate(PageCount(4100)).map(|run| run.first), Ok(PageIndex(0)));
}

#[test]
fn a_wrong_free_changes_nothing() {
    let mut pages = fresh::<Bits48>(1 << 14);
    pages.allocate(PageCount(5000)).unwrap();
    pages.free(PageIndex(4000), PageCount(1)).unwrap();
    let state = seen(&pages);
    for (first, count, at) in [(0, 4001, 4000), (4000, 1, 4000), (4999, 2, 5000), (6000, 5000, 6000)] {
        let wrong = Err(FreeError::AlreadyFree { page: PageIndex(at) });
        assert_eq!(pages.free(PageIndex(first), PageCount(count)), wrong);
    }
    assert_eq!(pages.free(PageIndex(0), PageCount(0)), Err(FreeError::Zero));
    assert_eq!(seen(&pages), state);
    pages.is_valid().unwrap();
}

#[test]
fn exhaustion_leaves_everything_as_it_was() {
    let mut pages = fresh::<Bits48>(10_000);
    let mut taken = 0;
    while pages.allocate(PageCount(7)).is_ok() {
        taken += 7;
    }
    assert_eq!(taken, 9996);
    let state = seen(&pages);
    for count in [5, 7, 10_000] {
        let none = AllocateError::NoRun { asked: PageCount(count), free: PageCount(4) };
        assert_eq!(pages.allocate(PageCount(count)), Err(none));
    }
    assert_eq!(pages.allocate(PageCount(0)), Err(AllocateError::Zero));
    let beyond =
        AllocateError::BeyondReservation { asked: PageCount(10_001), reservation: PageCount(10_000) };
    assert_eq!(pages.allocate(PageCount(10_001)), Err(beyond));
    assert_eq!(seen(&pages), state);
    pages.is_valid().unwrap();
    assert_eq!(pages.allocate(PageCount(4)).map(|run| run.first), Ok(PageIndex(9996)));
    assert_eq!(pages.free_pages(), PageCount(0));
    // And from no free page to some.
    pages.free(PageIndex(700), PageCount(7)).unwrap();
    assert_eq!(pages.hint(), PageIndex(700));
    assert_eq!(pages.allocate(PageCount(7)).map(|run| run.first), Ok(PageIndex(700)));
    pages.is_valid().unwrap();
}

#[test]
fn the_hint_skips_full_pages() {
    let mut pages = fresh::<Bits48>(1 << 16);
    pages.allocate(PageCount(1 << 15)).unwrap();
    assert_eq!(pages.hint(), PageIndex(1 << 15));
    pages.free(PageIndex(700), PageCount(2)).unwrap();
    assert_eq!(pages.hint(), PageIndex(700));
    // The first fit is higher, and the hint stays at the two pages.
    assert_eq!(pages.allocate(PageCount(3)).map(|run| run.first), Ok(PageIndex(1 << 15)));
    assert_eq!(pages.hint(), PageIndex(700));
    // Once they are allocated, the hint moves to the first free chunk.
    assert_eq!(pages.allocate(PageCount(2)).map(|run| run.first), Ok(PageIndex(700)));
    assert!(pages.hint() >= PageIndex(702));
    assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex((1 << 15) + 3)));
    pages.is_valid().unwrap();
}

#[test]
fn the_tree_reaches_as_high_as_the_grown_pages() {
    // From one chunk on, each further piece needs one more level, upwards and downwards; runs reach across all.
    let chunk = 512;
    for down in [false, true] {
        let mut pages = new::<Bits48>(1 << 24);
        let middle = 1 << 23;
        let place = |offset: usize| PageIndex(if down { middle - offset - chunk } else { middle + offset });
        pages.grow(place(0), PageCount(chunk)).unwrap();
        pages.is_valid().unwrap();
        let mut held = vec![pages.allocate(PageCount(500)).unwrap()];
        pages.is_valid().unwrap();
        for distance in [9, 65, 513, 4097] {
            let first = place((distance - 1) * chunk);
            pages.grow(first, PageCount(chunk)).unwrap();
            pages.is_valid().unwrap();
            // The pages that were free before are still found, first fit by address.
            let run = pages.allocate(PageCount(12)).unwrap();
            pages.is_valid().unwrap();
            held.push(run);
            let run = pages.allocate(PageCount(400)).unwrap();
            assert_eq!(run.first.0 / chunk, first.0 / chunk);
            held.push(run);
            pages.is_valid().unwrap();
        }
        for run in held {
            pages.free(run.first, run.count).unwrap();
            pages.is_valid().unwrap();
        }
        assert_eq!(pages.free_pages(), pages.grown_pages());
    }
}

#[test]
fn a_run_across_the_largest_entries_is_found_when_the_tree_grows_to_them() {
    // One entry of the root covers 16 GiB.
    let root = 1 << 21;
    let mut pages = new::<Bits48>(4 * root);
    pages.grow(PageIndex(2 * root - 300), PageCount(300)).unwrap();
    pages.grow(PageIndex(2 * root), PageCount(300)).unwrap();
    pages.is_valid().unwrap();
    assert_eq!(pages.allocate(PageCount(600)).unwrap().first.0, 2 * root - 300);
    pages.is_valid().unwrap();
}
