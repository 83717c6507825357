//! A report of nanoseconds an operation, alone and shared, over heaps of 256 MiB and 16 GiB (tables only; no page is touched). Each
//! figure is the median of several passes, with the fastest beside it. `cargo bench -p heapwood-pages`.

use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, PageAllocator, PageCache, PageCount, PageIndex, SharedPages};
use std::hint::black_box;
use std::time::Instant;

const PASSES: usize = 9;
const ONE: PageCount = PageCount(1);

/// A small generator (xorshift), so that every run does the same work.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 as u128 * n as u128) >> 64) as usize
    }

    fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// Times `work`, which does the number of operations it returns, on a heap made ready by `prepare`.
fn report<T>(name: &str, mut prepare: impl FnMut() -> T, mut work: impl FnMut(&mut T) -> usize) {
    if let Ok(f) = std::env::var("ONLY")
        && !name.contains(&f)
    {
        return;
    }
    let mut ns: Vec<f64> = (0..PASSES)
        .map(|_| {
            let mut state = prepare();
            let start = Instant::now();
            let operations = work(&mut state);
            start.elapsed().as_nanos() as f64 / operations as f64
        })
        .collect();
    ns.sort_by(f64::total_cmp);
    println!("  {name:<58} {:8.1} {:8.1}", ns[PASSES / 2], ns[0]);
}

fn fresh(count: usize) -> PageAllocator<Bits48> {
    let mut pages = PageAllocator::new(&SYSTEM, PageCount(count)).expect("tables");
    pages.grow(PageIndex(0), PageCount(count)).expect("tables");
    pages
}

fn full(count: usize) -> PageAllocator<Bits48> {
    let mut pages = fresh(count);
    pages.allocate(PageCount(count)).expect("all pages are free");
    pages
}

/// A heap of which a random share is free.
fn holes(count: usize, share: f64) -> PageAllocator<Bits48> {
    let mut pages = full(count);
    let mut random = Random(88172645463325252);
    for page in random.shuffled(count).into_iter().take((count as f64 * share) as usize) {
        pages.free(PageIndex(page), ONE).expect("in use");
    }
    pages
}

fn drain(pages: &mut PageAllocator<Bits48>, count: PageCount) -> usize {
    let mut done = 1;
    while let Ok(page) = pages.allocate(count) {
        black_box(page);
        done += 1;
    }
    done
}

/// Behind its lock, as mutators have it; with a share of holes, or all free.
fn shared(count: usize, holes: Option<f64>) -> SharedPages<Bits48> {
    let pages = SharedPages::new(&SYSTEM, PageCount(count)).expect("tables");
    pages.grow(PageIndex(0), PageCount(count)).expect("tables");
    if let Some(share) = holes {
        pages.allocate_uncached(PageCount(count)).expect("all pages are free");
        let mut random = Random(88172645463325252);
        for page in random.shuffled(count).into_iter().take((count as f64 * share) as usize) {
            pages.free(PageIndex(page), ONE).expect("in use");
        }
    }
    pages
}

fn drain_shared(pages: &SharedPages<Bits48>, count: PageCount, cached: bool) -> usize {
    let (mut cache, mut done) = (PageCache::EMPTY, 1);
    loop {
        let run = if cached { pages.allocate(&mut cache, count) } else { pages.allocate_uncached(count) };
        match run {
            Ok(run) => black_box(run),
            Err(_) => return done,
        };
        done += 1;
    }
}

/// A page allocated and freed, and the frees of a sweep: one by one, and in batches.
fn sharing(count: usize) {
    println!("shared, heap of {:<44} ns median  fastest", format!("{} MiB", count / 128));
    for size in [1, 2, 4, 8, 12, 15, 16, 17, 24, 32] {
        for cached in [false, true] {
            let how = if cached { "cached" } else { "with the lock" };
            let name = format!("allocate {size} pages, fresh heap, {how}");
            report(&name, || shared(count, None), |p| drain_shared(p, PageCount(size), cached));
        }
    }
    for size in [1, 2] {
        for cached in [false, true] {
            let how = if cached { "cached" } else { "with the lock" };
            let name = format!("allocate {size} pages, 10 % random holes, {how}");
            report(&name, || shared(count, Some(0.1)), |p| drain_shared(p, PageCount(size), cached));
        }
    }
    let full = || {
        let pages = shared(count, None);
        pages.allocate_uncached(PageCount(count)).expect("all pages are free");
        pages
    };
    let every_other: Vec<(PageIndex, PageCount)> =
        (0..count).step_by(2).map(|p| (PageIndex(p), ONE)).collect();
    report("free every other page, one by one", full, |p| {
        every_other.iter().map(|&(page, n)| p.free(page, n).unwrap()).count()
    });
    report("free every other page, 64 at a time", full, |p| {
        every_other.chunks(64).for_each(|some| p.free_batch(some).unwrap());
        every_other.len()
    });
}

fn main() {
    sharing(1 << 15);
    sharing(1 << 21);
    for (name, count) in [("256 MiB", 1 << 15), ("16 GiB", 1 << 21)] {
        let order = Random(2463534242).shuffled(count);
        println!("heap of {name:<52} ns median  fastest");
        report("allocate 1 page, fresh heap to exhaustion", || fresh(count), |p| drain(p, ONE));
        report("allocate 1 page, 10 % random holes, to exhaustion", || holes(count, 0.1), |p| drain(p, ONE));
        report("allocate 1 page, 50 % random holes, to exhaustion", || holes(count, 0.5), |p| drain(p, ONE));
        report("allocate 15 pages, fresh heap to exhaustion", || fresh(count), |p| drain(p, PageCount(15)));
        report(
            "allocate 4 pages, 50 % holes, to exhaustion",
            || holes(count, 0.5),
            |p| drain(p, PageCount(4)),
        );
        report(
            "free 1 page, full heap, ascending",
            || full(count),
            |p| (0..count).map(|page| p.free(PageIndex(page), ONE).unwrap()).count(),
        );
        report(
            "free 1 page, full heap, random order",
            || full(count),
            |p| order.iter().map(|&page| p.free(PageIndex(page), ONE).unwrap()).count(),
        );
        report(
            "free 1 random page and allocate 1, full heap (a pair)",
            || full(count),
            |p| {
                let pair = |&page| {
                    p.free(PageIndex(page), ONE).unwrap();
                    black_box(p.allocate(ONE).unwrap());
                };
                order.iter().map(pair).count()
            },
        );
        report(
            "allocate 512 pages and free them (a pair), 50 % holes",
            || {
                let mut p = fresh(count);
                p.claim(PageIndex(0), PageCount(count - 4096)).unwrap();
                for page in order.iter().filter(|&&page| page < count - 4096).take(count / 2) {
                    p.free(PageIndex(*page), ONE).unwrap();
                }
                p
            },
            |p| {
                (0..10_000)
                    .map(|_| {
                        let page = p.allocate(PageCount(512)).unwrap().first;
                        p.free(page, PageCount(512)).unwrap();
                    })
                    .count()
            },
        );
    }
}
