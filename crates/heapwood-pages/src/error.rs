//! Errors of the page allocator: why pages were not added, allocated, freed or claimed, why an allocator cannot be
//! made, and inconsistencies of one. Invariant: an error holds everything that its message says.

use crate::summary::Summary;
use crate::units::ChunkIndex;
use crate::units::{PageCount, PageIndex};
use core::fmt;
use heapwood_os::OsError;

/// Why an allocator cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewError {
    /// The reservation is larger than the geometry's address space.
    ReservationTooLarge {
        /// The requested size.
        reservation: PageCount,
        /// The largest possible size.
        most: PageCount,
    },
    /// The kernel refused address space for the tables.
    Refused(OsError),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewError::ReservationTooLarge { reservation, most } => {
                write!(f, "a reservation of {reservation} is larger than the geometry's {most}")
            }
            NewError::Refused(cause) => write!(f, "no address space for the page tables: {cause}"),
        }
    }
}

impl core::error::Error for NewError {}

/// Why no page was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocateError {
    /// The request was for no page.
    Zero,
    /// The request was for more pages than the reservation has.
    BeyondReservation {
        /// The requested pages.
        asked: PageCount,
        /// The size of the reservation.
        reservation: PageCount,
    },
    /// No run of free pages is long enough; growing may help.
    NoRun {
        /// The requested pages.
        asked: PageCount,
        /// The free pages, in all runs together.
        free: PageCount,
    },
}

impl fmt::Display for AllocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocateError::Zero => write!(f, "the request is for no page"),
            AllocateError::BeyondReservation { asked, reservation } => {
                write!(f, "a request for {asked} exceeds the reservation of {reservation}")
            }
            AllocateError::NoRun { asked, free } => {
                write!(f, "no run of {asked} is free ({free} free in all)")
            }
        }
    }
}

impl core::error::Error for AllocateError {}

/// Why no page was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrowError {
    /// The range is empty.
    Zero,
    /// The range leaves the reservation.
    BeyondReservation {
        /// The first page outside the reservation.
        page: PageIndex,
    },
    /// A page of the range exists already.
    AlreadyGrown {
        /// The first such page.
        page: PageIndex,
    },
    /// The kernel refused memory for the tables.
    Refused {
        /// The first page of the range.
        page: PageIndex,
        /// The reason.
        cause: OsError,
    },
}

impl fmt::Display for GrowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrowError::Zero => write!(f, "the range is empty"),
            GrowError::BeyondReservation { page } => write!(f, "{page} is not in the reservation"),
            GrowError::AlreadyGrown { page } => write!(f, "{page} exists already"),
            GrowError::Refused { page, cause } => {
                write!(f, "no tables for the pages from {page} on: {cause}")
            }
        }
    }
}

impl core::error::Error for GrowError {}

/// Why no page was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreeError {
    /// The range is empty.
    Zero,
    /// The range leaves the reservation.
    BeyondReservation {
        /// The first page outside the reservation.
        page: PageIndex,
    },
    /// A page of the range does not exist.
    NotGrown {
        /// The first such page.
        page: PageIndex,
    },
    /// A page of the range is free already.
    AlreadyFree {
        /// The first such page.
        page: PageIndex,
    },
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeError::Zero => write!(f, "the range is empty"),
            FreeError::BeyondReservation { page } => write!(f, "{page} is not in the reservation"),
            FreeError::NotGrown { page } => write!(f, "{page} does not exist"),
            FreeError::AlreadyFree { page } => write!(f, "{page} is free already"),
        }
    }
}

impl core::error::Error for FreeError {}

/// Why no page was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimError {
    /// The range is empty.
    Zero,
    /// The range leaves the reservation.
    BeyondReservation {
        /// The first page outside the reservation.
        page: PageIndex,
    },
    /// A page of the range does not exist.
    NotGrown {
        /// The first such page.
        page: PageIndex,
    },
    /// A page of the range is in use.
    InUse {
        /// The first such page.
        page: PageIndex,
    },
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Zero => write!(f, "the range is empty"),
            ClaimError::BeyondReservation { page } => write!(f, "{page} is not in the reservation"),
            ClaimError::NotGrown { page } => write!(f, "{page} does not exist"),
            ClaimError::InUse { page } => write!(f, "{page} is in use"),
        }
    }
}

impl core::error::Error for ClaimError {}

/// Why no allocator can be made from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The tables cannot be made.
    New(NewError),
    /// The chunk's pages cannot be added: the chunk appears twice, or lies outside the reservation, or the kernel
    /// refuses memory.
    Grow {
        /// The chunk.
        chunk: ChunkIndex,
        /// The reason.
        cause: GrowError,
    },
    /// The chunk has another number of words than the geometry's chunks.
    Words {
        /// The chunk.
        chunk: ChunkIndex,
        /// The expected number of words.
        expected: usize,
    },
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::New(cause) => write!(f, "{cause}"),
            SnapshotError::Grow { chunk, cause } => write!(f, "{chunk} of the snapshot: {cause}"),
            SnapshotError::Words { chunk, expected } => {
                write!(f, "{chunk} of the snapshot does not have {expected} words of either kind")
            }
        }
    }
}

impl core::error::Error for SnapshotError {}

/// An inconsistency of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidationError {
    /// The bit of a nonexistent page is wrong, so the page could be allocated.
    Stray {
        /// The first page of the chunk.
        page: PageIndex,
    },
    /// A summary differs from the bits or summaries below it.
    Summary {
        /// The level, 0 being the root.
        level: usize,
        /// The entry in that level.
        entry: usize,
        /// The stored summary.
        stored: Summary,
        /// The computed summary.
        computed: Summary,
    },
    /// A page exists that searches cannot reach, since an entry above it does not exist.
    Unreachable {
        /// The first page of the chunk.
        page: PageIndex,
        /// The level of the missing entry.
        level: usize,
    },
    /// The count of free pages is wrong.
    FreePages {
        /// The stored counter.
        stored: PageCount,
        /// The number by the bits.
        computed: PageCount,
    },
    /// The count of scavenged pages is wrong.
    ScavengedPages {
        /// The stored counter.
        stored: PageCount,
        /// The number by the bits.
        computed: PageCount,
    },
    /// The count of existing pages is wrong.
    GrownPages {
        /// The stored counter.
        stored: PageCount,
        /// The number by the bits.
        computed: PageCount,
    },
    /// A page below the hint is free.
    Hint {
        /// The hint.
        hint: PageIndex,
        /// The free page.
        free: PageIndex,
    },
    /// A chunk has pages to release, but is not noted in the index.
    NotNoted {
        /// The first page of the chunk.
        page: PageIndex,
    },
    /// A page outside the reservation exists.
    BeyondReservation {
        /// The page.
        page: PageIndex,
    },
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValidationError::Stray { page } => write!(f, "the unused bits of the chunk of {page} are wrong"),
            ValidationError::Summary { level, entry, stored, computed } => {
                write!(f, "level {level}, entry {entry}: stored {stored:?}, computed {computed:?}")
            }
            ValidationError::Unreachable { page, level } => {
                write!(f, "the chunk of {page} has no entry in level {level}")
            }
            ValidationError::FreePages { stored, computed } => {
                write!(f, "free: {stored} stored, {computed} counted")
            }
            ValidationError::ScavengedPages { stored, computed } => {
                write!(f, "scavenged: {stored} stored, {computed} counted")
            }
            ValidationError::GrownPages { stored, computed } => {
                write!(f, "grown: {stored} stored, {computed} counted")
            }
            ValidationError::Hint { hint, free } => write!(f, "{free} is free below the hint, {hint}"),
            ValidationError::NotNoted { page } => {
                write!(f, "the chunk of {page} has pages to release, but no note in the index")
            }
            ValidationError::BeyondReservation { page } => write!(f, "{page} exists outside the reservation"),
        }
    }
}

impl core::error::Error for ValidationError {}
