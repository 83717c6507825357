//! The boundaries of words, chunks and levels, one by one. Only tables exist here: a page index stands for 8 KiB that
//! nobody maps, so reservations of many TiB are cheap.

use crate::common::{ALL, ENTRY, fresh, new, only_free, seen};
use heapwood_pages::{Bits48, PageCount, PageIndex, Tiny};

/// The run of `before + after` pages around `at` is found whole, among runs that are one page too short, and can be
/// freed again.
fn finds_around(reservation: usize, at: usize, before: usize, after: usize) {
    let (first, count) = (at - before, before + after);
    let decoys = [(first - count - 2, count - 1), (first + count + 2, count - 1)];
    let mut pages = only_free(reservation, &[decoys[0], (first, count), decoys[1]]);
    let state = seen(&pages);
    assert_eq!(pages.allocate(PageCount(count)).map(|run| run.first), Ok(PageIndex(first)));
    pages.is_valid().unwrap();
    assert!(pages.allocate(PageCount(count)).is_err());
    pages.free(PageIndex(first), PageCount(count)).unwrap();
    pages.is_valid().unwrap();
    assert_eq!(seen(&pages), state);
}

#[test]
fn runs_at_every_boundary_are_found() {
    let [root, below, middle, above, _] = ENTRY;
    for (reservation, at, before, after) in [
        // Within a word, across words, and of whole words.
        (1024, 32, 5, 6),
        (1024, 128, 7, 9),
        (1024, 320, 63, 10),
        (2048, 640, 64, 64),
        (1024, 256, 64, 0),
        (2048, 768, 128, 64),
        // Across chunks, a whole one, and several.
        (4096, 1024, 3, 2),
        (4096, 1536, 300, 200),
        (8192, 2048, 512, 0),
        (16384, 6144, 1000, 1100),
        // Across entries of each level.
        (1 << 14, above, 10, 20),
        (1 << 14, above * 2, 700, 900),
        (1 << 17, middle, 1, 1),
        (1 << 17, middle * 2, 5000, 6000),
        (1 << 20, below, 2, 1),
        (1 << 20, below, 40_000, 33_000),
        (1 << 22, root, 1, 2),
        (1 << 22, root, 300_000, 290_000),
    ] {
        finds_around(reservation, at, before, after);
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
    pages.claim(PageIndex(0), PageCount(1));
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
    assert!(pages.allocate(PageCount(2)).is_err());
    assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex(0)));
    assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex(ALL - 1)));
    assert!(pages.is_in_use(PageIndex(ALL - 1)) && !pages.is_in_use(PageIndex(ALL)));
    assert!(pages.allocate(PageCount(1)).is_err());
    pages.free(PageIndex(ALL - 1), PageCount(1)).unwrap();
    assert_eq!(pages.hint(), PageIndex(ALL - 1));
    assert_eq!(pages.allocate(PageCount(1)).map(|run| run.first), Ok(PageIndex(ALL - 1)));
    pages.is_valid().unwrap();
    assert_eq!(pages.free(PageIndex(ALL - 1), PageCount(2)).unwrap_err().page, PageIndex(ALL));
    assert!(pages.free(PageIndex(usize::MAX), PageCount(usize::MAX)).is_err());
}

#[test]
#[should_panic(expected = "33 pages")]
fn a_reservation_is_no_larger_than_the_geometry() {
    new::<Tiny>(33);
}

#[test]
fn distant_regions_do_not_join() {
    let mut pages = new::<Bits48>(ALL);
    let mut regions = [5usize << 30, 77, 1 << 25, (1 << 25) + 101, ALL - 100];
    for first in regions {
        pages.grow(PageIndex(first), PageCount(100)).unwrap();
    }
    pages.is_valid().unwrap();
    assert!(pages.allocate(PageCount(101)).is_err());
    regions.sort();
    for first in regions {
        assert_eq!(pages.allocate(PageCount(100)).map(|run| run.first), Ok(PageIndex(first)));
    }
    assert_eq!(pages.free_pages(), PageCount(0));
    for (first, count, at) in [(170, 20, 177), (1 << 29, 1, 1 << 29)] {
        assert_eq!(pages.free(PageIndex(first), PageCount(count)).unwrap_err().page, PageIndex(at));
    }
    pages.is_valid().unwrap();
}

#[test]
#[should_panic(expected = "exist already")]
fn no_page_is_added_twice() {
    let mut pages = new::<Bits48>(1 << 16);
    pages.grow(PageIndex(1000), PageCount(100)).unwrap();
    let _ = pages.grow(PageIndex(0), PageCount(5000));
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
