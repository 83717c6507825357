//! Why pages were not added, taken, freed or claimed, why there is no allocator, and what one has wrong about itself.
//! Invariant: an error carries the pages and counts that its message names, and nothing else is looked up to print it.

use crate::summary::Summary;
use crate::units::ChunkIndex;
use crate::units::{PageCount, PageIndex};
use core::fmt;
use heapwood_os::OsError;

/// Why an allocator cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewError {
    /// The window is larger than the geometry's address space.
    ReservationTooLarge {
        /// The window asked for.
        reservation: PageCount,
        /// The largest possible.
        most: PageCount,
    },
    /// The kernel refused address space for the tables.
    Refused(OsError),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewError::ReservationTooLarge { reservation, most } => {
                write!(f, "a window of {reservation} is larger than the geometry's {most}")
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
    /// Zero pages were asked for.
    Zero,
    /// More pages were asked for than the window has.
    BeyondReservation {
        /// The pages asked for.
        asked: PageCount,
        /// The window.
        reservation: PageCount,
    },
    /// No run of free pages is long enough; growing may help.
    NoRun {
        /// The pages asked for.
        asked: PageCount,
        /// The pages free, in all runs together.
        free: PageCount,
    },
}

impl fmt::Display for AllocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocateError::Zero => write!(f, "zero pages were asked for"),
            AllocateError::BeyondReservation { asked, reservation } => {
                write!(f, "{asked} were asked for in a window of {reservation}")
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
    /// Zero pages were to be added.
    Zero,
    /// The range leaves the window.
    BeyondReservation {
        /// The first page that is not in the window.
        page: PageIndex,
    },
    /// A page of the range was added before.
    AlreadyGrown {
        /// The first such page.
        page: PageIndex,
    },
    /// The kernel refused memory for the tables.
    Refused {
        /// The first page of the range.
        page: PageIndex,
        /// The kernel's answer.
        cause: OsError,
    },
}

impl fmt::Display for GrowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrowError::Zero => write!(f, "zero pages were to be added"),
            GrowError::BeyondReservation { page } => write!(f, "{page} is not in the window"),
            GrowError::AlreadyGrown { page } => write!(f, "{page} was added before"),
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
    /// Zero pages were to be freed.
    Zero,
    /// The range leaves the window.
    BeyondReservation {
        /// The first page that is not in the window.
        page: PageIndex,
    },
    /// A page of the range was never added.
    NotGrown {
        /// The first page at fault.
        page: PageIndex,
    },
    /// A page of the range is free already.
    AlreadyFree {
        /// The first page at fault.
        page: PageIndex,
    },
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeError::Zero => write!(f, "zero pages were to be freed"),
            FreeError::BeyondReservation { page } => write!(f, "{page} is not in the window"),
            FreeError::NotGrown { page } => write!(f, "{page} was never added"),
            FreeError::AlreadyFree { page } => write!(f, "{page} is free already"),
        }
    }
}

impl core::error::Error for FreeError {}

/// Why no page was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimError {
    /// Zero pages were to be claimed.
    Zero,
    /// The range leaves the window.
    BeyondReservation {
        /// The first page that is not in the window.
        page: PageIndex,
    },
    /// A page of the range was never added.
    NotGrown {
        /// The first page at fault.
        page: PageIndex,
    },
    /// A page of the range is in use.
    InUse {
        /// The first page at fault.
        page: PageIndex,
    },
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Zero => write!(f, "zero pages were to be claimed"),
            ClaimError::BeyondReservation { page } => write!(f, "{page} is not in the window"),
            ClaimError::NotGrown { page } => write!(f, "{page} was never added"),
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
    /// The chunk's pages cannot be added: it is there twice, or outside the window, or the kernel refuses memory.
    Grow {
        /// The chunk.
        chunk: ChunkIndex,
        /// Why.
        cause: GrowError,
    },
    /// The chunk has another number of words than the geometry's chunks.
    Words {
        /// The chunk.
        chunk: ChunkIndex,
        /// The words it should have.
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

/// What an allocator has wrong about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidationError {
    /// A bit without a page is wrong, so that what does not exist could be handed out.
    Stray {
        /// The first page of the chunk.
        page: PageIndex,
    },
    /// A summary differs from what the bits below it say.
    Summary {
        /// The level, 0 being the root.
        level: usize,
        /// The entry in that level.
        entry: usize,
        /// What it holds.
        stored: Summary,
        /// What it should hold.
        computed: Summary,
    },
    /// A page exists that the search cannot reach, since an entry above it does not.
    Unreachable {
        /// The first page of the chunk.
        page: PageIndex,
        /// The level of the missing entry.
        level: usize,
    },
    /// The count of free pages is wrong.
    FreePages {
        /// The count kept.
        stored: PageCount,
        /// The count of the bits.
        computed: PageCount,
    },
    /// The count of free pages without memory is wrong.
    ScavengedPages {
        /// The count kept.
        stored: PageCount,
        /// The count of the bits.
        computed: PageCount,
    },
    /// The count of existing pages is wrong.
    GrownPages {
        /// The count kept.
        stored: PageCount,
        /// The count of the bits.
        computed: PageCount,
    },
    /// A page below the hint is free.
    Hint {
        /// The hint.
        hint: PageIndex,
        /// The free page.
        free: PageIndex,
    },
    /// A chunk has pages to release, but no note of it in the index.
    NotNoted {
        /// The first page of the chunk.
        page: PageIndex,
    },
    /// A page outside the window exists.
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
                write!(f, "the chunk of {page} has pages to release, but the index does not say so")
            }
            ValidationError::BeyondReservation { page } => write!(f, "{page} exists outside the window"),
        }
    }
}

impl core::error::Error for ValidationError {}
