//! Caches for long runs: the pages that a cache takes, that all are returned, and random requests by several caches
//! compared with a plain list of owners. Invariant: a page is free, in one cache, or allocated once.

use crate::common::{Random, fresh, only_free, seen};
use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, LongCache, PAGE_SIZE, PageCount, PageIndex, SharedPages};
use std::collections::BTreeMap;

type Cache = LongCache<Bits48>;

#[test]
fn a_cache_takes_the_rest_of_the_chunk_after_the_first_long_run() {
    let mut pages = only_free(1024, &[(3, 4), (70, 20), (100, 30), (400, 60), (510, 2)]);
    let before = seen(&pages);
    let mut cache = Cache::default();
    let run = pages.allocate_long(&mut cache, PageCount(12), PageCount(1000)).unwrap();
    assert_eq!((run.first, run.count), (PageIndex(70), PageCount(12)));
    // The hole below stays free; the rest of the chunk is cached, and searched first fit.
    assert_eq!((pages.free_pages().0, cache.pages().0), (4, 8 + 30 + 60 + 2));
    pages.is_valid().unwrap();
    let mut next = |count| cache.allocate(PageCount(count)).map(|run| run.first.0);
    assert_eq!(
        [31, 8, 30, 30, 31, 29, 2, 1].map(&mut next),
        [Some(400), Some(82), Some(100), None, None, Some(431), Some(510), None]
    );
    assert_eq!(next(0), None);
    // A request that the cache cannot serve is the first fit among all pages.
    let run = pages.allocate_long(&mut cache, PageCount(4), PageCount(0)).unwrap();
    assert_eq!((run.first, cache.pages()), (PageIndex(3), PageCount(0)));
    pages.is_valid().unwrap();
    for (first, count) in [(3, 4), (70, 20), (100, 30), (400, 60), (510, 2)] {
        pages.free(PageIndex(first), PageCount(count)).unwrap();
    }
    assert_eq!(seen(&pages), before);
}

#[test]
fn a_cache_takes_no_more_than_it_may() {
    for most in [1, 7, 40, 64, 65, 200, 499, 500, 5000] {
        let mut pages = fresh::<Bits48>(1024);
        let mut cache = Cache::default();
        pages.allocate_long(&mut cache, PageCount(12), PageCount(most)).unwrap();
        assert_eq!(cache.pages().0, most.min(500));
        assert_eq!((pages.free_pages().0, pages.hint().0), (1012 - cache.pages().0, 12 + cache.pages().0));
        pages.is_valid().unwrap();
        pages.flush_long(&mut cache);
        assert!(cache.is_empty() && pages.hint() == PageIndex(12) && pages.scavenged_pages().0 == 1012);
        pages.is_valid().unwrap();
    }
}

#[test]
fn no_page_is_allocated_twice_and_all_are_returned() {
    let all = 6 * 512 + 77;
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(all)).unwrap();
    pages.grow(PageIndex(0), PageCount(all)).unwrap();
    let mut caches = [Cache::default(); 3];
    let mut taken = BTreeMap::new();
    let (mut rng, mut touched) = (Random(88_172_645_463_325_252), vec![false; all]);
    let mut random = |below: usize| rng.below(below);
    let (mut refills, mut served) = (0, 0);
    for step in 0..20_000 {
        let who = random(caches.len());
        if random(100) < 53 {
            let longest = if random(10) == 0 { 100 } else { 16 };
            let count = PageCount(1 + random(longest));
            let run = caches[who].allocate(count).or_else(|| {
                refills += 1;
                let most = PageCount([0, 30, 500, usize::MAX][random(4)]);
                // Sometimes a request that it cannot serve leaves it unchanged.
                if most.0 == usize::MAX {
                    None
                } else {
                    pages.allocate_long(&mut caches[who], count, most).ok()
                }
            });
            let Some(run) = run else { continue };
            served += 1;
            let (first, end) = (run.first.0, run.first.0 + count.0);
            let before = taken.range(..end).next_back().map_or(0, |(_, &end)| end);
            assert!(run.count == count && before <= first, "{run:?} is allocated already");
            let fresh = touched[first..end].iter().filter(|&&touched| !touched).count();
            assert_eq!(run.scavenged.0, fresh, "{run:?}");
            touched[first..end].fill(true);
            taken.insert(first, end);
        } else if let Some((&first, &end)) = taken.range(random(all)..).next() {
            taken.remove(&first);
            pages.free(PageIndex(first), PageCount(end - first)).unwrap();
        }
        if step % 64 == 0 {
            pages.flush_all_long(&mut caches[who..=who]);
        }
        let held: usize = caches.iter().map(|cache| cache.pages().0).sum();
        let used: usize = taken.iter().map(|(first, end)| end - first).sum();
        assert_eq!(pages.in_use().0, held + used);
        if step % 16 == 0 {
            pages.is_valid().unwrap();
        }
    }
    println!("{served} requests, {refills} by the lock, of {} bytes", all * PAGE_SIZE);
    assert!(served > 8000 && refills + 1000 < served, "{refills} of {served}");
    pages.flush_all_long(&mut caches);
    for (first, end) in taken {
        pages.free(PageIndex(first), PageCount(end - first)).unwrap();
    }
    pages.is_valid().unwrap();
    assert_eq!(pages.stats().free.0, all);
}
