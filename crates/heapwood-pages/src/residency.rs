//! What of an allocator's pages the kernel has in memory, by the state of the page. The allocator knows which pages may
//! have memory: one in use may never have been touched, and a huge page brings memory for pages that were never used.
//! Invariant: each byte of memory counts once. Chunks are looked at one after the other, so what others change
//! meanwhile is seen as it was or as it is.

use crate::geometry::{Geometry, TreeShape};
use crate::page::PAGE_SIZE;
use crate::shared::SharedPages;
use crate::units::ChunkIndex;
use core::ops::Range;
use heapwood_os::Pagemap;

/// Bytes in memory, by the state of their pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Of pages in use; cached ones and those being released are.
    pub in_use: usize,
    /// Of free pages that may be resident.
    pub free: usize,
    /// Of pages that the allocator takes for not resident: never used, released, or not even existing.
    pub others: usize,
}

impl Residency {
    /// All bytes in memory.
    pub fn total(self) -> usize {
        self.in_use + self.free + self.others
    }
}

impl<G: Geometry> SharedPages<G> {
    /// The residency of the pages, which begin at the address `base`; `None` if the kernel does not tell.
    pub fn residency(&self, base: usize, pagemap: &Pagemap) -> Option<Residency> {
        let (mut found, mut done) = (Residency::default(), base);
        let mut next = self.next_chunk(0);
        while let Some((chunk, [in_use, scavenged])) = next {
            let start = base + chunk.first_page::<G>().byte_offset();
            let end = start + TreeShape::<G>::CHUNK_PAGES * PAGE_SIZE;
            // Between chunks there are no pages.
            pagemap.for_each_resident(done..start, |part| found.others += part.len())?;
            let bit = |words: &G::Words, page: usize| words.as_ref()[page / 64] >> (page % 64) & 1 != 0;
            pagemap.for_each_resident(start..end, |part| {
                for (page, bytes) in by_pages(part.start - start..part.end - start) {
                    *match (bit(&in_use, page), bit(&scavenged, page)) {
                        (true, false) => &mut found.in_use,
                        (false, false) => &mut found.free,
                        _ => &mut found.others,
                    } += bytes;
                }
            })?;
            done = end;
            next = self.next_chunk(chunk.0 + 1);
        }
        Some(found)
    }

    /// A copy of the bits of the first chunk with pages from this index on.
    fn next_chunk(&self, from: usize) -> Option<(ChunkIndex, [G::Words; 2])> {
        self.with(|pages| {
            let mut index = pages.chunks.next_existing(from);
            while let Some(chunk) = pages.chunks.get(index) {
                let words = chunk.bits();
                if words[0].as_ref().iter().zip(words[1].as_ref()).any(|(a, b)| a & b != u64::MAX) {
                    return Some((ChunkIndex(index), words));
                }
                index = pages.chunks.next_existing(index + 1);
            }
            None
        })
    }
}

/// The pages of a range of bytes, and the bytes in each.
fn by_pages(bytes: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    (bytes.start / PAGE_SIZE..bytes.end.div_ceil(PAGE_SIZE)).map(move |page| {
        let (from, to) = (page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
        (page, to.min(bytes.end) - from.max(bytes.start))
    })
}
