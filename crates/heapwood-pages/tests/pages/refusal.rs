//! The kernel refuses each request in turn. Each is an error without effect, and the next call works.

use crate::common::seen;
use heapwood_os::Request;
use heapwood_os_testing::faulty::Faulty;
use heapwood_pages::{
    Bits48, Effort, Geometry, PageAllocator, PageCache, PageCount, PageIndex, ScavengePolicy, SharedPages,
    Tiny,
};

fn faulty() -> &'static Faulty {
    Box::leak(Box::default())
}

/// The scavenge index requests memory before the allocator does.
fn every_refusal<G: Geometry>(reservation: usize, regions: &[(usize, usize)]) {
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
        assert!(refused.is_some_and(|cause| cause.request == Request::Reserve), "{refused:?}");
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
            assert_eq!(result.unwrap_err().request, Request::Commit);
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
    every_refusal::<Bits48>(1 << 30, &[(0, 5000), ((1 << 29) + 77, 3000), ((1 << 30) - 5, 5)]);
    every_refusal::<Tiny>(32, &[(0, 7), (20, 12)]);
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
    assert!(pages.allocate(&mut cache, PageCount(3000)).is_err());
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
