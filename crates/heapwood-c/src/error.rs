//! The errors of this interface: those of the crates below, and its own. An error is small, and becomes text when it is
//! reported to C. Here is the table from each to its status.
#![allow(missing_docs, reason = "the sentence of each variant says what it is, and what its numbers are")]

use crate::status::Status;
use heapwood_gc::{AllocError, HeapError, Misuse, Refusal};
use heapwood_heap::Refusal as OfHeap;
use heapwood_layout::LayoutError;
use heapwood_layout::describe::{DescribeError, ParseError};
use heapwood_os::OsError;

/// An error.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} is NULL")]
    Null(&'static str),
    #[error("options.size is {0}: hw_options_init sets it")]
    OptionsSize(usize),
    #[error("an option is set that this version of the library does not know")]
    UnknownOption,
    #[error("stack_hi is {0:#x}, below the calling function: pass the highest address of the stack")]
    StackEnd(usize),
    #[error(
        "the stack from {0:#x} to {1:#x} is not that of the calling function: lo is its lowest byte, and hi one past its highest"
    )]
    StackBounds(usize, usize),
    #[error("{0:#x} is not the number of a type of this heap")]
    NoType(u32),
    #[error("more than {0} different types in one heap: register one once and keep its number")]
    TooManyTypes(usize),
    #[error("an array of {0} elements of {1} bytes is larger than any object can be")]
    ArraySize(usize, usize),
    #[error("no arrays of a type with a trace function, which knows single objects only")]
    ArrayOfTraced,
    #[error("{0} is no order of finalisers: pass HW_FINALIZE_ORDERED or HW_FINALIZE_AT_ONCE")]
    FinalizeOrder(u32),
    #[error("flags is {0:#x}: this version of the library knows only HW_ARENA_RECYCLE (1)")]
    ArenaFlags(u32),
    #[error("flags is {0:#x}: this version of the library knows only HW_LINK_LONG (1)")]
    LinkFlags(u32),
    #[error("{0:#x} is not the address of an object")]
    NoObject(usize),
    #[error("{0:#x} is no handle of this heap that is held")]
    NoHandle(usize),
    #[error("slots is {0:#x}, no multiple of 8: pointer slots are aligned words")]
    NoSlot(usize),
    #[error("{0} slots are more than there can be")]
    SlotCount(usize),
    #[error("a range from {0:#x} to {1:#x}: lo is its first byte, and hi one past its last")]
    Range(usize, usize),
    #[error(
        "{0:#x} is no root of this heap, or was removed before: pass the number that its registration returned, once"
    )]
    NoRoot(u64),
    #[error("byte {0}: the description is not UTF-8")]
    NoText(usize),
    #[error(transparent)]
    Parse(ParseError),
    #[error(transparent)]
    Describe(DescribeError),
    #[error(transparent)]
    Alloc(#[from] AllocError),
    #[error(transparent)]
    Heap(#[from] HeapError),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<LayoutError> for Error {
    fn from(e: LayoutError) -> Self {
        Error::Refused(e.into())
    }
}

impl From<Misuse> for Error {
    fn from(e: Misuse) -> Self {
        Error::Refused(e.into())
    }
}

impl From<OsError> for Error {
    fn from(e: OsError) -> Self {
        Error::Refused(e.into())
    }
}

impl Error {
    /// The address that was passed where an object's was wanted.
    pub fn object(&self) -> Option<usize> {
        match self {
            Error::NoObject(address) => Some(*address),
            Error::Refused(refusal) | Error::Alloc(AllocError::Refused(refusal)) => match *refusal {
                Refusal::NoTable { address }
                | Refusal::NoEphemeron { address }
                | Refusal::CannotReferWeakly { address }
                | Refusal::CannotFinalize { address } => Some(address),
                _ => None,
            },
            _ => None,
        }
    }

    /// The status that C gets; of errors that the crates below may add later, `HW_EINVAL`.
    pub fn status(&self) -> Status {
        match self {
            Error::NoText(_) | Error::Parse(_) | Error::Describe(_) | Error::ArrayOfTraced => Status::EDESC,
            Error::TooManyTypes(_) => Status::EFULL,
            Error::ArraySize(..) => Status::ELIMIT,
            Error::Alloc(e) => match e {
                AllocError::Limit { .. }
                | AllocError::Memory { .. }
                | AllocError::CollectionsOff { .. }
                | AllocError::ReservationFull(_) => Status::ELIMIT,
                AllocError::Kernel(_) => Status::ENOMEM,
                AllocError::Misuse(misuse) => Error::from(*misuse).status(),
                AllocError::Refused(refusal) => Error::Refused(*refusal).status(),
                _ => Status::EINVAL,
            },
            Error::Heap(e) => match e {
                HeapError::Kernel(_) | HeapError::Memory { .. } | HeapError::ThreadKeys => Status::ENOMEM,
                HeapError::UnknownStack | HeapError::KernelPages { .. } => Status::ENOSYS,
                HeapError::MutatorsAttached { .. }
                | HeapError::AttachedAlready
                | HeapError::Finalizers { .. } => Status::ESTATE,
                _ => Status::EINVAL,
            },
            Error::Refused(e) => match e {
                Refusal::Kernel(_) | Refusal::NoDescriptor { .. } => Status::ENOMEM,
                Refusal::Layout(_) | Refusal::Program(_) | Refusal::Heap(OfHeap::Nest(_)) => Status::EDESC,
                Refusal::ManyFinalizers { .. }
                | Refusal::ManyQueues { .. }
                | Refusal::ManyLinks { .. }
                | Refusal::ManyRoots { .. }
                | Refusal::ManyHandles { .. }
                | Refusal::ManyStacks { .. }
                | Refusal::ManyExcluded { .. }
                | Refusal::Heap(OfHeap::ManyShapes | OfHeap::ManyPrograms) => Status::EFULL,
                Refusal::Misuse(Misuse::NoTicket) => Status::EINVAL,
                Refusal::Misuse(_)
                | Refusal::ArenaOfOtherThread { .. }
                | Refusal::QueueInUse { .. }
                | Refusal::QueueCalled
                | Refusal::FinalizerQueued
                | Refusal::StackInUse
                | Refusal::NotOnStack => Status::ESTATE,
                _ => Status::EINVAL,
            },
            _ => Status::EINVAL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_tables_have_one_status_and_name_their_size() {
        let full = [
            (Refusal::ManyRoots { most: 65536 }.into(), "65536 roots"),
            (Refusal::ManyStacks { most: 1048576 }.into(), "1048576 stacks"),
            (Refusal::ManyHandles { most: 16777216 }.into(), "16777216 handles"),
            (Error::TooManyTypes(262143), "262143 different types"),
            (Refusal::from(OfHeap::ManyShapes).into(), "16073 different layouts"),
            (AllocError::from(OfHeap::ManyShapes).into(), "16073 different layouts"),
        ];
        for (error, words) in full {
            assert_eq!(error.status(), Status::EFULL);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
