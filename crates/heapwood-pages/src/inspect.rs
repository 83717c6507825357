//! The state of single pages, and the allocation of given pages, for studies and tests of an allocator. Invariant: a
//! page outside the reservation does not exist.

use crate::allocator::{PageAllocator, PageRun};
use crate::chunk::Obstacle;
use crate::error::ClaimError;
use crate::geometry::Geometry;
use crate::units::{PageCount, PageIndex};

impl<G: Geometry> PageAllocator<G> {
    /// Whether the page exists. Pages outside the reservation do not.
    #[inline]
    pub fn is_grown(&self, page: PageIndex) -> bool {
        self.chunks.get(page.chunk::<G>().0).is_some_and(|c| c.is_grown(page.in_chunk::<G>()))
    }

    /// Whether the page is free and scavenged.
    #[inline]
    pub fn is_scavenged(&self, page: PageIndex) -> bool {
        let place = page.in_chunk::<G>();
        self.chunks.get(page.chunk::<G>().0).is_some_and(|c| !c.is_set(place) && c.is_scavenged(place))
    }

    /// Allocates exactly the pages from `first` on, to rebuild a known state or to reserve pages.
    ///
    /// # Errors
    /// The range is empty, leaves the reservation, or holds a page that does not exist or is in use. Nothing is
    /// allocated then.
    pub fn claim(&mut self, first: PageIndex, count: PageCount) -> Result<PageRun, ClaimError> {
        if count.0 == 0 {
            return Err(ClaimError::Zero);
        }
        if let Some(page) = self.outside(first, count) {
            return Err(ClaimError::BeyondReservation { page });
        }
        match self.obstacle(first.0, count.0, false) {
            Some(Obstacle::NotGrown(page)) => Err(ClaimError::NotGrown { page: PageIndex(page) }),
            Some(Obstacle::WrongState(page)) => Err(ClaimError::InUse { page: PageIndex(page) }),
            None => Ok(self.take_exactly(first.0, count)),
        }
    }
}
