//! Reservations, arrays and the index over kernels with pages of any size, and over one that refuses.

use core::ops::Range;
use heapwood_os::{HUGE_PAGE, LEAST_KERNEL_PAGE, MappedArray, MappedIndex, Reservation, SYSTEM, round_up};
use heapwood_os_testing::faulty::Faulty;
use heapwood_os_testing::large_page_kernel::Coarse;

#[test]
fn huge_commits_reach_to_the_end_of_their_huge_page() {
    let len = 3 * HUGE_PAGE / 8;
    let a = MappedArray::<u64>::new(&SYSTEM, len).unwrap();
    a.commit_huge(5..6).unwrap();
    let end = (round_up(a.at(5) as usize + 8, HUGE_PAGE).unwrap() - a.as_ptr() as usize) / 8;
    // SAFETY: it shares its huge page with element 5.
    unsafe { a.at(end - 1).write(7) };
    // The commit ends with the array.
    a.commit_huge(len - 1..len).unwrap();
    // SAFETY: committed just above.
    assert_eq!(unsafe { a.at(len - 1).read() }, 0);
}

/// A kernel with pages of N bytes.
fn coarse(page: usize) -> &'static Coarse {
    Box::leak(Box::new(Coarse::new(page)))
}

#[test]
fn everything_is_rounded_to_the_kernels_pages() {
    for page in [LEAST_KERNEL_PAGE, 16 << 10, 64 << 10] {
        let kernel = coarse(page);
        let memory = Reservation::new(kernel, 5 * page + 1, 8).unwrap();
        assert_eq!((memory.start() % page, memory.len()), (0, 6 * page));
        memory.commit(page + 8..page + 16).unwrap();
        memory.commit(3 * page - 1..3 * page + 1).unwrap();
        memory.commit(7..7).unwrap();
        memory.advise_small(8..16);
        memory.advise_huge(page - 1..page + 1);
        // SAFETY: the same pages as the bytes above.
        unsafe { ((memory.start() + 2 * page - 1) as *mut u8).write(1) };
        drop(memory);
        assert_eq!(kernel.odd_requests(), 0);
    }
}

#[test]
fn parts_of_kernel_pages_are_zeroed_and_their_rest_is_kept() {
    for page in [LEAST_KERNEL_PAGE, 16 << 10, 64 << 10] {
        let kernel = coarse(page);
        let memory = Reservation::new(kernel, 4 * page, 8).unwrap();
        memory.commit(0..4 * page).unwrap();
        let bytes = |range: Range<usize>| {
            // SAFETY: all is committed, and used by this test alone.
            unsafe { core::slice::from_raw_parts_mut((memory.start() + range.start) as *mut u8, range.len()) }
        };
        let half = page / 2;
        for (from, to) in [
            (0, 4 * page),
            (half, 3 * page + half),
            (half, 2 * page),
            (page, 2 * page + half),
            (half, page + half),
            (half, page),
            (8, 16),
            (page + 8, page + 8),
            (page, page),
        ] {
            bytes(0..4 * page).fill(7);
            // SAFETY: as above.
            unsafe { memory.decommit(from..to).unwrap() };
            assert!(bytes(0..from).iter().chain(&*bytes(to..4 * page)).all(|&b| b == 7), "{from}..{to}");
            assert!(bytes(from..to).iter().all(|&b| b == 0), "{from}..{to}");
        }
        drop(memory);
        assert_eq!(kernel.odd_requests(), 0);
    }
}

#[test]
fn released_elements_read_as_zeros() {
    for page in [LEAST_KERNEL_PAGE, 64 << 10] {
        let a = MappedArray::<u64>::new(coarse(page), 3 * page / 8 - 5).unwrap();
        a.commit(0..a.len()).unwrap();
        for keep in [0, 1, page / 8, page / 8 + 1, a.len() - 1, a.len()] {
            for i in 0..a.len() {
                // SAFETY: committed above.
                unsafe { a.at(i).write(7) };
            }
            // SAFETY: the contents are not needed.
            unsafe { a.shrink(keep, a.len()).unwrap() };
            // SAFETY: committed above.
            let at = |i| unsafe { a.at(i).read() };
            assert!((0..a.len()).all(|i| at(i) == if i < keep { 7 } else { 0 }), "{page} {keep}");
        }
    }
}

#[test]
fn too_many_elements_are_an_error() {
    assert!(MappedArray::<u64>::new(&SYSTEM, usize::MAX / 2).is_err());
    assert!(MappedArray::<u64>::new(&SYSTEM, 1 << 60).is_err());
}

#[test]
fn a_kernel_that_refuses_leaves_the_index_as_it_was() {
    static KERNEL: Faulty = Faulty::new();
    let mut index = MappedIndex::new(&KERNEL, 10_000).unwrap();
    KERNEL.refuse(0);
    assert!(index.reserve(|_| 0).is_err() && index.find(7, |_| true).is_none());
    index.reserve(|_| 0).unwrap();
    index.insert(7, 1);
    assert_eq!(index.find(7, |_| true), Some(1));
}
