//! Errors: a request for memory that must wait or fails, what a program does wrong, or an invariant that does not hold. Each
//! sentence names the request and the next step; displaying one makes no system call.
#![allow(missing_docs, reason = "the sentence of each variant says what it is, and what its numbers are")]

use crate::address::{Address, ObjectRef};
use crate::layout::program_id::{MAX_BYTES, MAX_NODES, MAX_PROGRAMS, MOST_UNROLLED};
use crate::layout::shape_id::MAX_OWN_SHAPES;
use core::fmt;
use heapwood_layout::program::NestError;
use heapwood_os::OsError;
use heapwood_pages::PageIndex;
use thiserror::Error;

/// The reason why memory cannot be allocated now. A collector has an answer for each, and the sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceError {
    /// The budget of this cycle is spent: collect, then ask again.
    CollectionDue,
    /// A marking beside the program has not come as far as it should have before so much is allocated: wait for it, then ask again.
    MarkingBehind,
    /// The heap may not grow above its limit in bytes. As the next, it has the bytes requested, in whole pages.
    Limit { limit: usize, bytes: usize },
    /// The heap may not grow beyond the share of the process's memory that it may take up.
    Memory { bytes: usize, most: usize },
    /// The reservation has no room of this size left.
    ReservationFull(NoRoom),
    /// The kernel gave no memory.
    Kernel(OsError),
}

impl From<OsError> for SpaceError {
    fn from(e: OsError) -> Self {
        SpaceError::Kernel(e)
    }
}

/// A reservation that has no room of some size left; the process's `ulimit -v`, if it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    pub bytes: usize,
    pub reservation: usize,
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
        let NoRoom { bytes, reservation, ulimit } = self;
        write!(f, "no room for {bytes} bytes in the heap's reservation of {reservation} bytes: ")?;
        if let Some(most) = ulimit {
            write!(f, "raise `ulimit -v`, which is {most} bytes, or ")?;
        }
        f.write_str("reserve a larger one")
    }
}

/// The reason why an object was not freed, bytes outside the heap were not counted, or a shape or a program was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error(
        "{address:#x} is no object of this heap: it was never one, or a collection has freed it; free what allocation returned, \
         and keep it alive until then"
    )]
    NoObject { address: Address },
    #[error("{address:#x} lies inside the object at {object:#x}: give the address of its first byte")]
    Inside { address: Address, object: ObjectRef },
    #[error("{address:#x} lies in arena {arena}: close or empty the arena, which frees all its values")]
    InArena { address: Address, arena: u64 },
    #[error(
        "{address:#x} is an ephemeron or a weak reference, which only a collection frees: drop all references to it"
    )]
    Ephemeron { address: Address },
    #[error("the object at {address:#x} has been freed already: free each object once")]
    FreedTwice { address: Address },
    #[error(
        "{bytes} bytes outside the heap are more than memory can hold, beside the {level} that are counted: add what was \
         allocated, and no difference that has become negative"
    )]
    BeyondMemory { bytes: usize, level: usize },
    #[error(
        "{bytes} bytes outside the heap are given back, and {level} are counted: give back what was added, once"
    )]
    MoreThanAdded { bytes: usize, level: usize },
    #[error(
        "more than {MAX_OWN_SHAPES} different layouts in one heap, although types of the same size class and pointers share one: \
         use fewer layouts"
    )]
    ManyShapes,
    #[error(
        "a type's program was not registered: {0}, and types of more than {MOST_UNROLLED} words are not unrolled"
    )]
    Nest(NestError),
    #[error(
        "a type's program was not registered: more than {MAX_PROGRAMS} different programs in one heap, or {MAX_BYTES} bytes of \
         them, or {MAX_NODES} nodes of their loops: use fewer programs"
    )]
    ManyPrograms,
    /// The kernel gave no memory. An object that was to be freed is freed by the next collection if nothing refers to it.
    #[error(transparent)]
    Kernel(#[from] OsError),
}

/// The first violation found by a check.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("page {}: {what}", .page.0)]
pub struct ValidationError {
    pub page: PageIndex,
    pub what: &'static str,
}
