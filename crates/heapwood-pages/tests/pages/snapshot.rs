//! Snapshots: an allocator made from one has the same state and behaviour, and the same snapshot. Contradictory
//! snapshots are refused with the chunk at fault.

use heapwood_os::SYSTEM;
use heapwood_pages::{
    Bits48, ChunkIndex, ChunkSnapshot, Effort, Geometry, GrowError, PageAllocator, PageCache, PageCount,
    PageIndex, ScavengePolicy, SharedPages, Snapshot, SnapshotError, Tiny,
};
use proptest::prelude::*;

/// Random operations on a shared allocator.
fn lived_in<G: Geometry>(reservation: usize, steps: &[(u8, usize, usize)]) -> SharedPages<G> {
    let pages = SharedPages::<G>::new(&SYSTEM, PageCount(reservation)).unwrap();
    let mut cache = PageCache::EMPTY;
    let policy = ScavengePolicy { most: PageCount(9), huge_pages: false };
    for &(what, page, count) in steps {
        let (first, count) = (PageIndex(page % reservation), PageCount(count));
        match what {
            0 => drop(pages.grow(first, count)),
            1 => drop(pages.allocate(&mut cache, count)),
            // Cached pages count as in use.
            2 if (first.0..first.0 + count.0).any(|page| cache.get(PageIndex(page)).is_some()) => {}
            2 => drop(pages.free(first, count)),
            3 => drop(pages.scavenge(Effort::Full, policy, |_, _| true)),
            _ => pages.flush(&mut cache),
        }
    }
    pages.flush(&mut cache);
    pages
}

fn check<G: Geometry>(pages: &SharedPages<G>) {
    let snapshot = pages.snapshot();
    let again = SharedPages::<G>::from_snapshot(&SYSTEM, &snapshot).unwrap();
    again.is_valid().unwrap();
    assert_eq!(again.snapshot(), snapshot);
    let (figures, then) = (again.stats(), pages.stats());
    assert_eq!((figures.grown, figures.free, figures.scavenged), (then.grown, then.free, then.scavenged));
    assert_eq!((snapshot.grown_pages(), snapshot.free_pages()), (then.grown, then.free));
    assert_eq!(snapshot.releasable_pages().0, then.free.0 - then.scavenged.0);
    assert_eq!(again.in_use(), pages.in_use());
    for count in [3, 1, 64, 2, 1, 1, 17] {
        assert_eq!(again.allocate_uncached(PageCount(count)), pages.allocate_uncached(PageCount(count)));
    }
    again.is_valid().unwrap();
}

fn steps() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    prop::collection::vec((0..5u8, 0..4096usize, 0..700usize), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn an_allocator_made_from_a_snapshot_is_the_same(steps in steps()) {
        check(&lived_in::<Bits48>(4096, &steps));
        let small: Vec<_> = steps.iter().map(|&(what, page, count)| (what, page, count % 9)).collect();
        check(&lived_in::<Tiny>(32, &small));
    }
}

#[test]
fn a_snapshot_of_distant_chunks_has_only_their_pages() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(1 << 31)).unwrap();
    pages.grow(PageIndex(100), PageCount(1000)).unwrap();
    pages.grow(PageIndex((1 << 31) - 700), PageCount(700)).unwrap();
    pages.allocate_uncached(PageCount(900)).unwrap();
    let snapshot = pages.snapshot();
    assert_eq!(snapshot.chunks.len(), 5);
    check(&pages);
}

fn empty(chunk: usize) -> ChunkSnapshot {
    ChunkSnapshot { chunk: ChunkIndex(chunk), in_use: vec![0; 8], scavenged: vec![0; 8] }
}

#[test]
fn a_contradictory_snapshot_is_an_error() {
    let make = |reservation: usize, chunks: Vec<ChunkSnapshot>| {
        PageAllocator::<Bits48>::from_snapshot(
            &SYSTEM,
            &Snapshot { reservation: PageCount(reservation), chunks },
        )
    };
    let chunk = ChunkIndex(1);
    let twice = make(2048, vec![empty(1), empty(1)]).unwrap_err();
    assert_eq!(twice, SnapshotError::Grow { chunk, cause: GrowError::AlreadyGrown { page: PageIndex(512) } });
    let outside = make(1000, vec![empty(1)]).unwrap_err();
    assert_eq!(
        outside,
        SnapshotError::Grow { chunk, cause: GrowError::BeyondReservation { page: PageIndex(1000) } }
    );
    assert_eq!(outside.to_string(), "chunk 1 of the snapshot: page 1000 is not in the reservation");
    let far = make(1000, vec![empty(usize::MAX / 3)]).unwrap_err();
    assert!(matches!(far, SnapshotError::Grow { cause: GrowError::BeyondReservation { .. }, .. }), "{far}");
    let short = ChunkSnapshot { in_use: vec![0; 7], ..empty(1) };
    assert_eq!(make(2048, vec![short]).unwrap_err(), SnapshotError::Words { chunk, expected: 8 });
    assert!(matches!(make(1 << 40, vec![]).unwrap_err(), SnapshotError::New(_)));
    assert_eq!(make(2048, vec![]).unwrap().grown_pages(), PageCount(0));
}

#[test]
fn pages_of_a_snapshot_can_be_freed() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(1 << 20)).unwrap();
    pages.grow(PageIndex(512), PageCount(1024)).unwrap();
    pages.grow(PageIndex(512_000), PageCount(512)).unwrap();
    pages.allocate_uncached(PageCount(1024)).unwrap();
    pages.allocate_uncached(PageCount(512)).unwrap();
    let mut snapshot = pages.snapshot();
    for (first, count) in [(600, 1), (1000, 50), (512_000, 1), (512_511, 1)] {
        snapshot.free(PageIndex(first), PageCount(count));
        pages.free(PageIndex(first), PageCount(count)).unwrap();
        assert_eq!(snapshot, pages.snapshot());
    }
    check(&pages);
}
