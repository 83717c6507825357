//! The kernel refuses each request in turn: an error, nothing changed, and the next call works.

mod common;

use common::seen;
use heapwood_os::faulty::Faulty;
use heapwood_os::{OsError, Request};
use heapwood_pages::{Bits48, Geometry, GrowError, NewError, PageAllocator, PageCount, PageIndex, Tiny};

fn faulty() -> &'static Faulty {
    Box::leak(Box::default())
}

fn every_refusal<G: Geometry>(window: usize, regions: &[(usize, usize)]) {
    let kernel = faulty();
    // How many requests it takes when all are granted.
    let mut plain = PageAllocator::<G>::new(kernel, PageCount(window)).unwrap();
    let of_new = kernel.requests();
    assert!(of_new >= G::LEVELS, "each level has an array");
    for turn in 0..of_new {
        kernel.refuse(turn);
        let refused = PageAllocator::<G>::new(kernel, PageCount(window)).unwrap_err();
        assert!(matches!(refused, NewError::Refused(OsError { request: Request::Reserve, .. })), "{refused}");
    }
    kernel.relent();

    let mut pages = PageAllocator::<G>::new(kernel, PageCount(window)).unwrap();
    for &(first, count) in regions {
        let before = kernel.requests();
        plain.grow(PageIndex(first), PageCount(count)).unwrap();
        let of_grow = kernel.requests() - before;
        // A refused grow may keep what it had committed, so each later one gets a request further.
        let mut refusals = 0;
        loop {
            let state = seen(&pages);
            kernel.refuse(0);
            let (asked, result) = (kernel.requests(), pages.grow(PageIndex(first), PageCount(count)));
            let asked = kernel.requests() - asked;
            kernel.relent();
            if asked == 0 {
                // Everything was there already.
                result.unwrap();
                break;
            }
            let Err(GrowError::Refused { page, cause }) = result else { panic!("{result:?}") };
            assert_eq!((page, cause.request), (PageIndex(first), Request::Commit));
            assert_eq!(seen(&pages), state);
            pages.is_valid().unwrap();
            refusals += 1;
            // Let one more request through than were granted so far.
            kernel.refuse(1);
            let result = pages.grow(PageIndex(first), PageCount(count));
            kernel.relent();
            if result.is_ok() {
                break;
            }
            assert_eq!(seen(&pages), state);
            pages.is_valid().unwrap();
        }
        assert!(of_grow == 0 || refusals == of_grow, "{refusals} refusals of {of_grow} requests");
        pages.is_valid().unwrap();
        assert_eq!(
            pages.allocate(PageCount(count)).map(|run| run.first),
            Ok(PageIndex(first)),
            "the next call works"
        );
    }
}

#[test]
fn each_request_of_the_48_bit_geometry() {
    every_refusal::<Bits48>(1 << 30, &[(0, 5000), ((1 << 29) + 77, 3000), ((1 << 30) - 5, 5)]);
}

#[test]
fn each_request_of_the_tiny_geometry() {
    every_refusal::<Tiny>(32, &[(0, 7), (20, 12)]);
}

#[test]
fn allocating_and_freeing_ask_for_nothing() {
    let kernel = faulty();
    let mut pages = PageAllocator::<Bits48>::new(kernel, PageCount(1 << 20)).unwrap();
    pages.grow(PageIndex(100), PageCount(100_000)).unwrap();
    let before = kernel.requests();
    let first = pages.allocate(PageCount(70_000)).unwrap().first;
    pages.allocate(PageCount(1)).unwrap();
    pages.free(first, PageCount(70_000)).unwrap();
    pages.claim(first, PageCount(10)).unwrap();
    pages.is_valid().unwrap();
    assert_eq!(kernel.requests(), before);
}

#[test]
fn the_error_says_what_was_refused() {
    let kernel = faulty();
    let mut pages = PageAllocator::<Bits48>::new(kernel, PageCount(1 << 20)).unwrap();
    kernel.refuse(0);
    let text = pages.grow(PageIndex(4242), PageCount(1)).unwrap_err().to_string();
    assert!(text.contains("page 4242") && text.contains("refused to commit"), "{text}");
}
