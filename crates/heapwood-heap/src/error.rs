//! Errors: a request for memory, a shape or a program that was rejected, or an invariant that does not hold. Each names
//! the request and the next step; displaying one makes no system call.

use crate::address::{Address, ObjectRef};
use crate::layout::program_id::{MAX_BYTES, MAX_NODES, MAX_PROGRAMS, MOST_UNROLLED};
use crate::layout::shape_id::MAX_OWN_SHAPES;
use core::fmt;
use heapwood_layout::program::NestError;
use heapwood_os::OsError;
use heapwood_pages::PageIndex;

/// The reason why memory cannot be allocated now. A collector has an answer for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceError {
    /// The budget of this cycle is spent: collect, then ask again.
    CollectionDue,
    /// The heap may not grow above its limit.
    Limit {
        /// The limit in bytes.
        limit: usize,
        /// The bytes requested, in whole pages.
        bytes: usize,
    },
    /// The heap may not grow beyond the share of the process's memory that it may take up.
    Memory {
        /// The bytes requested, in whole pages.
        bytes: usize,
        /// The bytes that it may take up.
        most: usize,
    },
    /// The reservation has no room of this size left.
    ReservationFull(NoRoom),
    /// The kernel gave no memory.
    Kernel(OsError),
}

/// A reservation that has no room of some size left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// The bytes requested.
    pub bytes: usize,
    /// The size of the reservation.
    pub reservation: usize,
    /// The process's `ulimit -v`, if it is set.
    pub ulimit: Option<u64>,
}

impl NoRoom {
    /// No room for `bytes` bytes in a reservation of `reservation` bytes; also asks the system for `ulimit -v`.
    #[cold]
    pub fn new(bytes: usize, reservation: usize) -> Self {
        NoRoom { bytes, reservation, ulimit: heapwood_os::process::usage::address_space_limit() }
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no room for {} bytes in the heap's reservation of {} bytes: ",
            self.bytes, self.reservation
        )?;
        match self.ulimit {
            Some(most) => write!(f, "raise `ulimit -v`, which is {most} bytes, or reserve a larger one"),
            None => write!(f, "reserve a larger one"),
        }
    }
}

impl fmt::Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpaceError::CollectionDue => write!(f, "a collection is due"),
            SpaceError::Limit { limit, bytes } => write!(
                f,
                "no room for {bytes} bytes under the heap's limit of {limit}: raise the limit or keep less alive"
            ),
            SpaceError::Memory { bytes, most } => {
                write!(
                    f,
                    "no room for {bytes} bytes in the {most} bytes that the heap may use: keep less alive"
                )
            }
            SpaceError::ReservationFull(e) => e.fmt(f),
            SpaceError::Kernel(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for SpaceError {}

impl From<OsError> for SpaceError {
    fn from(e: OsError) -> Self {
        SpaceError::Kernel(e)
    }
}

/// The reason why an object was not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreeError {
    /// No object is there.
    NoObject {
        /// The address that was given.
        address: Address,
    },
    /// The address lies inside an object.
    Inside {
        /// The address that was given.
        address: Address,
        /// The object.
        object: ObjectRef,
    },
    /// The address lies in an arena, whose values are freed together.
    InArena {
        /// The address that was given.
        address: Address,
        /// The arena's number.
        arena: u64,
    },
    /// It is an ephemeron, which the collector may have on a list of its own.
    Ephemeron {
        /// The address that was given.
        address: Address,
    },
    /// The object was freed before.
    Twice {
        /// The address that was given.
        address: Address,
    },
    /// The kernel gave no memory for the bits of freed objects. The next collection frees the object if nothing refers
    /// to it.
    Kernel(OsError),
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeError::NoObject { address } => write!(
                f,
                "{address:#x} is no object of this heap: it was never one, or a collection has freed it; free what \
                 allocation returned, and keep it alive until then"
            ),
            FreeError::Inside { address, object } => {
                write!(
                    f,
                    "{address:#x} lies inside the object at {object:#x}: give the address of its first byte"
                )
            }
            FreeError::InArena { address, arena } => {
                write!(
                    f,
                    "{address:#x} lies in arena {arena}: close or empty the arena, which frees all its values"
                )
            }
            FreeError::Ephemeron { address } => {
                write!(
                    f,
                    "{address:#x} is an ephemeron or a weak reference, which only a collection frees: drop all references to it"
                )
            }
            FreeError::Twice { address } => {
                write!(f, "the object at {address:#x} has been freed already: free each object once")
            }
            FreeError::Kernel(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for FreeError {}

/// Why bytes outside the heap were not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExternalError {
    /// More than memory can hold.
    TooMany {
        /// The bytes that were to be added.
        bytes: usize,
        /// Those that were counted before.
        level: usize,
    },
    /// More were given back than are counted.
    MoreThanAdded {
        /// The bytes that were to be given back.
        bytes: usize,
        /// Those that are counted.
        level: usize,
    },
}

impl fmt::Display for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExternalError::TooMany { bytes, level } => write!(
                f,
                "{bytes} bytes outside the heap are more than memory can hold, beside the {level} that are counted: add what \
                 was allocated, and no difference that has become negative"
            ),
            ExternalError::MoreThanAdded { bytes, level } => write!(
                f,
                "{bytes} bytes outside the heap are given back, and {level} are counted: give back what was added, once"
            ),
        }
    }
}

impl core::error::Error for ExternalError {}

/// The reason why a shape was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// All shape numbers of the heap are in use.
    TooMany,
    /// The kernel gave no memory.
    Kernel(OsError),
    /// Its program was not registered.
    Program(RegisterProgramError),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::TooMany => {
                write!(
                    f,
                    "more than {MAX_OWN_SHAPES} different layouts in one heap, although types of the same \
                     size class and pointers share one: use fewer layouts"
                )
            }
            ShapeError::Kernel(e) => e.fmt(f),
            ShapeError::Program(e) => write!(f, "a type's program was not registered: {e}"),
        }
    }
}

impl core::error::Error for ShapeError {}

/// The reason why a program was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterProgramError {
    /// It needs too many loops, and its type is too large to be unrolled.
    Nest(NestError),
    /// The heap has no room for more programs.
    TooMany,
    /// The kernel gave no memory.
    Kernel(OsError),
}

impl fmt::Display for RegisterProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterProgramError::Nest(e) => {
                write!(f, "{e}, and types of more than {MOST_UNROLLED} words are not unrolled")
            }
            RegisterProgramError::TooMany => write!(
                f,
                "more than {MAX_PROGRAMS} different programs in one heap, or {MAX_BYTES} bytes of them, or {MAX_NODES} nodes \
                 of their loops: use fewer programs"
            ),
            RegisterProgramError::Kernel(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for RegisterProgramError {}

/// The first violation found by a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    /// The page of the violation.
    pub page: PageIndex,
    /// A description of it.
    pub what: &'static str,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}: {}", self.page.0, self.what)
    }
}

impl core::error::Error for ValidationError {}
