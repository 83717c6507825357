//! The kernel refuses each request in turn. Each is an error without effect, and the next call works.

use crate::common::seen;
use heapwood_os::{OsError, Request};
use heapwood_os_testing::faulty::Faulty;
use heapwood_pages::{
    AllocateError, Bits48, Effort, Geometry, GrowError, NewError, PageAllocator, PageCache, PageCount,
    PageIndex, ScavengePolicy, SharedPages, Tiny,
};

fn faulty() -> &'static Faulty {
    Box::leak(Box::default())
}

fn every_refusal<G: Geometry>(reservation: usize, regions: &[(usize, usize)]) {
    let kernel = faulty();
    // The number of requests if all are granted.
    let mut plain = PageAllocator::<G>::new(kernel, PageCount(reservation)).unwrap();
    let of_new = kernel.requests();
    assert!(of_new >= G::LEVELS, "each level has an array");
    for turn in 0..of_new {
        kernel.refuse(turn);
        let refused = PageAllocator::<G>::new(kernel, PageCount(reservation)).unwrap_err();
        assert!(matches!(refused, NewError::Refused(OsError { request: Request::Reserve, .. })), "{refused}");
    }
    kernel.relent();

    let mut pages = PageAllocator::<G>::new(kernel, PageCount(reservation)).unwrap();
    for &(first, count) in regions {
        let before = kernel.requests();
        plain.grow(PageIndex(first), PageCount(count)).unwrap();
        let of_grow = kernel.requests() - before;
        // A refused grow may keep its committed memory, so each later one gets one request further.
        let mut refusals = 0;
        loop {
            let state = seen(&pages);
            kernel.refuse(0);
            let (asked, result) = (kernel.requests(), pages.grow(PageIndex(first), PageCount(count)));
            let asked = kernel.requests() - asked;
            kernel.relent();
            if asked == 0 {
                // Everything was committed already.
                result.unwrap();
                break;
            }
            let Err(GrowError::Refused { page, cause }) = result else { panic!("{result:?}") };
            assert_eq!((page, cause.request), (PageIndex(first), Request::Commit));
            assert_eq!(seen(&pages), state);
            pages.is_valid().unwrap();
            refusals += 1;
            // Grants one more request than before.
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
fn a_refused_request_of_the_48_bit_geometry_changes_nothing() {
    every_refusal::<Bits48>(1 << 30, &[(0, 5000), ((1 << 29) + 77, 3000), ((1 << 30) - 5, 5)]);
}

#[test]
fn a_refused_request_of_the_tiny_geometry_changes_nothing() {
    every_refusal::<Tiny>(32, &[(0, 7), (20, 12)]);
}

#[test]
fn allocating_and_freeing_ask_the_kernel_for_nothing() {
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
fn the_error_names_the_refused_request() {
    let kernel = faulty();
    let mut pages = PageAllocator::<Bits48>::new(kernel, PageCount(1 << 20)).unwrap();
    kernel.refuse(0);
    let text = pages.grow(PageIndex(4242), PageCount(1)).unwrap_err().to_string();
    assert!(text.contains("page 4242") && text.contains("refused to commit"), "{text}");
}

/// The same with a scavenge index, which requests memory before the allocator does.
fn every_refusal_shared<G: Geometry>(reservation: usize, regions: &[(usize, usize)]) {
    let kernel = faulty();
    let before = kernel.requests();
    let plain = PageAllocator::<G>::new(kernel, PageCount(reservation)).unwrap();
    let of_plain = kernel.requests() - before;
    drop(plain);
    SharedPages::<G>::new(kernel, PageCount(reservation)).unwrap();
    let of_new = kernel.requests() - before - of_plain;
    assert_eq!(of_new, of_plain + 1, "the index is an array");
    for turn in 0..of_new {
        kernel.refuse(turn);
        let refused = SharedPages::<G>::new(kernel, PageCount(reservation)).err();
        let of_reserve = |cause: OsError| cause.request == Request::Reserve;
        assert!(matches!(refused, Some(NewError::Refused(cause)) if of_reserve(cause)), "{refused:?}");
    }
    kernel.relent();

    // Fresh tables for each turn, so that each request of a grow is the only one refused.
    for (region, &(first, count)) in regions.iter().enumerate() {
        let (first, count) = (PageIndex(first), PageCount(count));
        let mut turn = 0;
        loop {
            let pages = SharedPages::<G>::new(kernel, PageCount(reservation)).unwrap();
            for &(first, count) in &regions[..region] {
                pages.grow(PageIndex(first), PageCount(count)).unwrap();
            }
            let state = pages.with(seen);
            kernel.refuse(turn);
            let result = pages.grow(first, count);
            kernel.relent();
            if result.is_ok() {
                break;
            }
            let Err(GrowError::Refused { page, cause }) = result else { panic!("{result:?}") };
            assert_eq!((page, cause.request), (first, Request::Commit));
            assert_eq!(pages.with(seen), state, "request {turn}");
            pages.is_valid().unwrap();
            // Without pages there is nothing to release, and nothing to allocate.
            let policy = ScavengePolicy { most: count, huge_pages: true };
            assert_eq!(pages.scavenge(Effort::Full, policy, |_, _| panic!("offered")), None);
            pages.grow(first, count).unwrap();
            pages.is_valid().unwrap();
            let free: usize = regions[..=region].iter().map(|region| region.1).sum();
            assert_eq!(pages.stats().free, PageCount(free), "the next call works");
            turn += 1;
        }
        // The first region requests memory for the index and for every array of the allocator.
        assert!(region > 0 || turn == of_new, "{turn} requests");
    }
}

#[test]
fn a_refused_request_of_shared_pages_changes_nothing() {
    every_refusal_shared::<Bits48>(1 << 30, &[(0, 5000), ((1 << 29) + 77, 3000), ((1 << 30) - 5, 5)]);
    every_refusal_shared::<Tiny>(32, &[(0, 7), (20, 12)]);
}

#[test]
fn pages_that_cannot_be_added_ask_the_kernel_for_nothing() {
    let kernel = faulty();
    let pages = SharedPages::<Bits48>::new(kernel, PageCount(1 << 20)).unwrap();
    pages.grow(PageIndex(100), PageCount(10)).unwrap();
    let asked = kernel.requests();
    kernel.refuse_from(0);
    let reservation = PageIndex(1 << 20);
    assert_eq!(pages.grow(PageIndex(1 << 19), PageCount(0)), Err(GrowError::Zero));
    let beyond = GrowError::BeyondReservation { page: reservation };
    assert_eq!(pages.grow(PageIndex(5), PageCount(usize::MAX)), Err(beyond));
    assert_eq!(pages.grow(reservation, PageCount(1)), Err(beyond));
    let grown = GrowError::AlreadyGrown { page: PageIndex(100) };
    assert_eq!(pages.grow(PageIndex(1), PageCount(1 << 19)), Err(grown));
    kernel.relent();
    assert_eq!(kernel.requests(), asked);
}

#[test]
fn only_new_and_grow_ask_the_kernel() {
    let kernel = faulty();
    let pages = SharedPages::<Bits48>::new(kernel, PageCount(1 << 20)).unwrap();
    pages.grow(PageIndex(0), PageCount(3000)).unwrap();
    let asked = kernel.requests();
    kernel.refuse_from(0);
    let mut cache = PageCache::EMPTY;
    let runs = [1, 15, 16, 700].map(|n| pages.allocate(&mut cache, PageCount(n)).unwrap());
    assert!(matches!(pages.allocate(&mut cache, PageCount(3000)), Err(AllocateError::NoRun { .. })));
    pages.free(runs[0].first, runs[0].count).unwrap();
    pages.free_batch(&[(runs[3].first, runs[3].count), (runs[1].first, runs[1].count)]).unwrap();
    let policy = ScavengePolicy { most: PageCount(100), huge_pages: true };
    assert!(pages.scavenge(Effort::Full, policy, |_, _| true).is_some());
    pages.new_cycle();
    pages.flush(&mut cache);
    pages.is_valid().unwrap();
    kernel.relent();
    assert_eq!(kernel.requests(), asked);
}
