//! The policies of release: an order of chunks and a rule within a chunk.
//!
//! | policy | chunks | within a chunk |
//! |---|---|---|
//! | highest-address-first | the highest | the highest run, up to 2 MiB |
//! | huge-pages-first | with a free huge page, then the highest | huge pages whole and first |
//! | heapwood | the highest | huge pages whole and first |
//!
//! The last is what `SharedPages::scavenge` does. Highest first is the order of "Proposal: Scaling the Go page
//! allocator" (Knyszek and Clements, 2019).

use heapwood_pages::scavenge::HUGE_PAGES;
use heapwood_pages::{PageCount, ScavengePolicy};
use serde::{Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    HighestFirst,
    HugePagesFirst,
    Heapwood,
}

impl Policy {
    pub(crate) const ALL: [Policy; 3] = [Policy::HighestFirst, Policy::HugePagesFirst, Policy::Heapwood];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Policy::HighestFirst => "highest-address-first",
            Policy::HugePagesFirst => "huge-pages-first",
            Policy::Heapwood => "heapwood",
        }
    }

    /// Chunks with the largest rank are first, and among these the highest.
    pub(crate) fn rank(self, has_free_huge_page: bool) -> usize {
        match self {
            Policy::HighestFirst | Policy::Heapwood => 0,
            Policy::HugePagesFirst => has_free_huge_page as usize,
        }
    }

    /// The most that is released of a chunk at once.
    pub(crate) fn within_chunk(self) -> ScavengePolicy {
        ScavengePolicy { most: PageCount(HUGE_PAGES), huge_pages: self != Policy::HighestFirst }
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}
