//! The state of single pages, and the allocation of given pages, for studies and tests of an allocator. Invariant: a
//! page outside the reservation does not exist.

use crate::allocator::{PageAllocator, PageRun};
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

    /// Allocates exactly the pages from `first` on, which are free, to rebuild a known state.
    pub fn claim(&mut self, first: PageIndex, count: PageCount) -> PageRun {
        let is_free = count.0 > 0 && self.outside(first, count).is_none();
        assert!(
            is_free && self.obstacle(first.0, count.0, false).is_none(),
            "{count} from {first} on are not free"
        );
        self.take_exactly(first.0, count)
    }
}
