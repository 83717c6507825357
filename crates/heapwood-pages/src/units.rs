//! The units of the crate: pages of 8 KiB and chunks of pages, each counted from the start of the reservation.
//! Invariant: indexes, lengths and chunks have distinct types, so the compiler tells them apart.

use crate::geometry::Geometry;
use crate::page::{LOG_PAGE_SIZE, PAGE_SIZE};
use core::fmt;

/// A page, counted from the start of the reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PageIndex(pub usize);

/// A number of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PageCount(pub usize);

/// A chunk (one leaf of the tree), counted from the start of the reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ChunkIndex(pub usize);

impl PageIndex {
    /// The chunk of this page.
    pub const fn chunk<G: Geometry>(self) -> ChunkIndex {
        ChunkIndex(self.0 >> G::LOG_CHUNK_PAGES)
    }

    /// The page's index in its chunk.
    pub const fn in_chunk<G: Geometry>(self) -> usize {
        self.0 & ((1 << G::LOG_CHUNK_PAGES) - 1)
    }

    /// The page's offset from the start of the reservation, in bytes.
    pub const fn byte_offset(self) -> usize {
        self.0 << LOG_PAGE_SIZE
    }
}

impl PageCount {
    /// The number of pages for `bytes` bytes, rounded up.
    pub const fn from_bytes(bytes: usize) -> Self {
        PageCount(bytes.div_ceil(PAGE_SIZE))
    }

    /// The length in bytes.
    pub const fn bytes(self) -> usize {
        self.0 << LOG_PAGE_SIZE
    }
}

impl ChunkIndex {
    /// The first page of this chunk.
    pub const fn first_page<G: Geometry>(self) -> PageIndex {
        PageIndex(self.0 << G::LOG_CHUNK_PAGES)
    }
}

impl fmt::Display for PageIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}", self.0)
    }
}

impl fmt::Display for PageCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "page" } else { "pages" })
    }
}

impl fmt::Display for ChunkIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {}", self.0)
    }
}
