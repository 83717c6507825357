//! Freeing in batches: the bits change run by run, but the summary of a chunk and the tree above it change once for
//! all its runs. A sweep frees many spans of a chunk at a time; batching them is an idea of the Go page allocator
//! proposal. Invariant: every freed run is in the tree when the call returns.

use crate::allocator::{PageAllocator, parts};
use crate::error::FreeError;
use crate::geometry::Geometry;
use crate::units::{PageCount, PageIndex};

impl<G: Geometry> PageAllocator<G> {
    /// Frees runs of used pages. Runs of one chunk should be adjacent in the batch, in any order.
    ///
    /// # Errors
    /// As [`free`](Self::free), for the first invalid run, or one with a page that the batch has freed; those before it are
    /// freed.
    pub fn free_batch(&mut self, runs: &[(PageIndex, PageCount)]) -> Result<(), FreeError> {
        let mut open: Option<usize> = None;
        let done = runs.iter().try_for_each(|&(first, count)| {
            self.check_free(first, count)?;
            for (chunk, from, len) in parts::<G>(first.0, count.0) {
                if open != Some(chunk) {
                    open.replace(chunk).into_iter().for_each(|before| self.summarize_freed(before));
                }
                if let Some(bits) = self.chunks.get_mut(chunk) {
                    bits.free(from, len);
                }
            }
            self.free += count.0;
            self.hint = self.hint.min(first.0);
            Ok(())
        });
        open.into_iter().for_each(|chunk| self.summarize_freed(chunk));
        done
    }

    pub(crate) fn check_free(&self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        let wrong = match self.outside(first, count) {
            None if count.0 == 0 => Some(first),
            None => self.obstacle(first.0, count.0, true).map(PageIndex),
            outside => outside,
        };
        wrong.map_or(Ok(()), |page| Err(FreeError { page }))
    }

    pub(crate) fn summarize_freed(&mut self, chunk: usize) {
        if let Some(bits) = self.chunks.get(chunk) {
            let new = bits.summarize();
            self.tree.freed(chunk, new);
        }
    }
}
