//! Freeing in batches: the bits change run by run, but the summary of a chunk and the tree above it change once for
//! all its runs. A sweep frees many spans of a chunk at a time; batching them is an idea of the Go page allocator
//! proposal. Invariant: either the whole batch is freed or none of it.

use crate::allocator::{PageAllocator, parts};
use crate::chunk::Obstacle;
use crate::error::FreeError;
use crate::geometry::Geometry;
use crate::units::{PageCount, PageIndex};

impl<G: Geometry> PageAllocator<G> {
    /// Frees runs of used pages. Runs of one chunk should be adjacent in the batch, in any order.
    ///
    /// # Errors
    /// As [`free`](Self::free), for the first invalid run; also if a page is in the batch twice. Nothing is freed
    /// then.
    pub fn free_batch(&mut self, runs: &[(PageIndex, PageCount)]) -> Result<(), FreeError> {
        let hint = self.hint;
        let mut open: Option<usize> = None;
        let mut freed = 0;
        for (done, &(first, count)) in runs.iter().enumerate() {
            if let Err(e) = self.check_free(first, count) {
                self.take_back(&runs[..done], open, hint);
                return Err(e);
            }
            for (chunk, from, len) in parts::<G>(first.0, count.0) {
                if open != Some(chunk) {
                    open.replace(chunk).into_iter().for_each(|before| self.summarize_freed(before));
                }
                if let Some(bits) = self.chunks.get_mut(chunk) {
                    bits.free(from, len);
                }
            }
            freed += count.0;
            self.hint = self.hint.min(first.0);
        }
        open.into_iter().for_each(|chunk| self.summarize_freed(chunk));
        self.free += freed;
        Ok(())
    }

    pub(crate) fn check_free(&self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        if count.0 == 0 {
            return Err(FreeError::Zero);
        }
        if let Some(page) = self.outside(first, count) {
            return Err(FreeError::BeyondReservation { page });
        }
        match self.obstacle(first.0, count.0, true) {
            None => Ok(()),
            Some(Obstacle::NotGrown(page)) => Err(FreeError::NotGrown { page: PageIndex(page) }),
            Some(Obstacle::WrongState(page)) => Err(FreeError::AlreadyFree { page: PageIndex(page) }),
        }
    }

    pub(crate) fn summarize_freed(&mut self, chunk: usize) {
        if let Some(bits) = self.chunks.get(chunk) {
            let new = bits.summarize();
            self.tree.freed(chunk, new);
        }
    }

    /// Marks the runs as used again, after the tree was updated for them.
    #[cold]
    fn take_back(&mut self, runs: &[(PageIndex, PageCount)], open: Option<usize>, hint: usize) {
        open.into_iter().for_each(|chunk| self.summarize_freed(chunk));
        for &(first, count) in runs {
            self.mark(first.0, count.0);
        }
        self.hint = hint;
    }
}
