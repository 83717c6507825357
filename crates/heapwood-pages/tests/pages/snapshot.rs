//! Snapshots have the pages that exist, and no others.

use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, ChunkIndex, PageCount, PageIndex, SharedPages};

#[test]
fn a_snapshot_has_the_pages_of_distant_chunks_in_their_states() {
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(1 << 31)).unwrap();
    pages.grow(PageIndex(100), PageCount(1000)).unwrap();
    pages.grow(PageIndex((1 << 31) - 700), PageCount(700)).unwrap();
    pages.allocate_uncached(PageCount(900)).unwrap();
    pages.free(PageIndex(600), PageCount(30)).unwrap();
    let snapshot = pages.snapshot();
    let last = (1 << 22) - 1;
    let chunks: Vec<_> = snapshot.chunks.iter().map(|chunk| chunk.chunk).collect();
    assert_eq!(chunks, [0, 1, 2, last - 1, last].map(ChunkIndex));
    let counts = [snapshot.grown_pages(), snapshot.free_pages(), snapshot.releasable_pages()];
    assert_eq!(counts, [1700, 830, 30].map(PageCount));
    for (page, in_use, scavenged) in
        [(99, true, true), (100, true, false), (600, false, false), (1001, false, true)]
    {
        let chunk = &snapshot.chunks[page / 512];
        let bit = |words: &[u64]| words[page % 512 / 64] >> (page % 64) & 1 == 1;
        assert_eq!((bit(&chunk.in_use), bit(&chunk.scavenged)), (in_use, scavenged), "{page}");
    }
}
