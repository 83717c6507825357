//! Caches for long runs: random requests by several caches, compared with a plain list of owners. Invariant: a page is
//! free, in one cache, or allocated once.

use crate::common::Random;
use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, LongCache, PAGE_SIZE, PageCount, PageIndex, SharedPages};
use std::collections::BTreeMap;

type Cache = LongCache<Bits48>;

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
