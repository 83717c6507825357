//! Why this crate refuses something: the reasons of the crates below, and those that only exist here. A reason is
//! small, and becomes words when it leaves for C.

use crate::status::Status;
use core::fmt;
use heapwood_gc::{AllocError, HandleError, HeapError, MisuseError, OptionError, RootError, TypeError};
use heapwood_heap::{RegisterProgramError, ShapeError};
use heapwood_layout::LayoutError;
use heapwood_layout::describe::{DescribeError, ParseError};
use heapwood_os::OsError;

/// A reason.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// A parameter that must not be NULL is.
    Null(&'static str),
    /// The options do not say their size, or one that cannot be.
    OptionsSize(usize),
    /// An option that this version does not know is set.
    UnknownOption,
    /// The end of the stack is below the caller's frame.
    StackEnd(usize),
    /// The heap has no type with this number.
    NoType(u32),
    /// The heap has as many types as it can.
    TooManyTypes(usize),
    /// An array larger than any object can be.
    ArraySize(usize, usize),
    /// An array of elements with a trace function.
    ArrayOfTraced,
    /// What a handle shall hold is no object's address.
    NoObject(usize),
    /// This is no handle that is held.
    NoHandle(usize),
    /// This is not where a pointer slot can be.
    NoSlot(usize),
    /// More slots than memory has.
    SlotCount(usize),
    /// A range that ends before it begins.
    Range(usize, usize),
    /// This is no root that is registered.
    NoRoot(u64),
    /// From a crate below.
    Root(RootError),
    /// From a crate below.
    Handle(HandleError),
    /// From a crate below.
    Alloc(AllocError),
    /// From a crate below.
    Misuse(MisuseError),
    /// A description is not text from this byte on.
    NoText(usize),
    /// A description is not the text of a type.
    Parse(ParseError),
    /// A description is the text of no type.
    Describe(DescribeError),
    /// From a crate below.
    Heap(HeapError),
    /// From a crate below.
    Type(TypeError),
    /// From a crate below.
    Os(OsError),
}

impl Refusal {
    /// The status that goes with it.
    pub fn status(&self) -> Status {
        match self {
            Refusal::Null(_)
            | Refusal::OptionsSize(_)
            | Refusal::UnknownOption
            | Refusal::StackEnd(_)
            | Refusal::NoType(_)
            | Refusal::NoObject(_)
            | Refusal::NoHandle(_)
            | Refusal::NoSlot(_)
            | Refusal::SlotCount(_)
            | Refusal::Range(..)
            | Refusal::NoRoot(_) => Status::EINVAL,
            Refusal::Root(RootError::Full { .. }) | Refusal::Handle(HandleError::Full { .. }) => {
                Status::EFULL
            }
            Refusal::Root(RootError::Kernel(_)) | Refusal::Handle(HandleError::Kernel(_)) => Status::ENOMEM,
            Refusal::TooManyTypes(_) => Status::EFULL,
            Refusal::ArraySize(..) => Status::ELIMIT,
            Refusal::ArrayOfTraced => Status::EDESC,
            Refusal::Alloc(
                AllocError::Limit { .. } | AllocError::Memory { .. } | AllocError::Window { .. },
            ) => Status::ELIMIT,
            Refusal::Alloc(AllocError::Kernel(_)) => Status::ENOMEM,
            Refusal::Misuse(_) | Refusal::Alloc(AllocError::Misuse(_)) => Status::ESTATE,
            Refusal::Heap(HeapError::OutOfRange(_)) => Status::EINVAL,
            Refusal::Heap(HeapError::Kernel(_) | HeapError::Memory { .. }) => Status::ENOMEM,
            Refusal::Heap(HeapError::UnknownStack | HeapError::KernelPages { .. }) => Status::ENOSYS,
            Refusal::Heap(HeapError::MutatorsAttached { .. } | HeapError::AttachedAlready) => Status::ESTATE,
            Refusal::Heap(HeapError::ThreadKeys) => Status::ENOMEM,
            Refusal::NoText(_) | Refusal::Parse(_) | Refusal::Describe(_) => Status::EDESC,
            Refusal::Type(TypeError::Layout(_) | TypeError::Program(_)) => Status::EDESC,
            Refusal::Alloc(AllocError::Layout(e)) | Refusal::Type(TypeError::Shape(e)) => match e {
                ShapeError::Program(RegisterProgramError::Nest(_)) => Status::EDESC,
                ShapeError::Program(RegisterProgramError::TooMany) | ShapeError::TooMany => Status::EFULL,
                _ => Status::ENOMEM,
            },
            Refusal::Os(_) => Status::ENOMEM,
            // Reasons that the crates below may learn and this one does not know yet.
            Refusal::Root(_)
            | Refusal::Handle(_)
            | Refusal::Alloc(_)
            | Refusal::Heap(_)
            | Refusal::Type(_) => Status::EINVAL,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Null(parameter) => write!(f, "{parameter} is NULL"),
            Refusal::OptionsSize(size) => write!(f, "options.size is {size}: hw_options_init sets it"),
            Refusal::UnknownOption => {
                write!(f, "an option is set that this version of the library does not know")
            }
            Refusal::StackEnd(end) => {
                write!(
                    f,
                    "stack_hi is {end:#x}, below the calling function: it is the end the stack began at"
                )
            }
            Refusal::NoType(number) => write!(f, "{number:#x} is not the number of a type of this heap"),
            Refusal::TooManyTypes(most) => {
                write!(
                    f,
                    "more than {most} different types in one heap: register one once and keep its number"
                )
            }
            Refusal::ArraySize(n, size) => {
                write!(f, "an array of {n} elements of {size} bytes is larger than any object can be")
            }
            Refusal::ArrayOfTraced => {
                write!(f, "no arrays of a type with a trace function, which knows single objects only")
            }
            Refusal::NoObject(addr) => write!(f, "{addr:#x} is not the address of an object"),
            Refusal::NoHandle(addr) => write!(f, "{addr:#x} is no handle of this heap that is held"),
            Refusal::NoSlot(addr) => {
                write!(f, "slots is {addr:#x}, no multiple of 8: pointer slots are aligned words")
            }
            Refusal::SlotCount(n) => write!(f, "{n} slots are more than there can be"),
            Refusal::Range(lo, hi) => {
                write!(f, "a range from {lo:#x} to {hi:#x}: lo is its first byte, and hi one past its last")
            }
            Refusal::NoRoot(root) => {
                write!(f, "{root:#x} is no root of this heap: has it been removed before?")
            }
            Refusal::Root(e) => e.fmt(f),
            Refusal::Handle(e) => e.fmt(f),
            Refusal::Alloc(e) => e.fmt(f),
            Refusal::Misuse(e) => e.fmt(f),
            Refusal::NoText(byte) => write!(f, "byte {byte}: the description is not UTF-8"),
            Refusal::Parse(e) => e.fmt(f),
            Refusal::Describe(e) => e.fmt(f),
            Refusal::Heap(e) => e.fmt(f),
            Refusal::Type(e) => e.fmt(f),
            Refusal::Os(e) => e.fmt(f),
        }
    }
}

impl From<AllocError> for Refusal {
    fn from(e: AllocError) -> Self {
        Refusal::Alloc(e)
    }
}

impl From<MisuseError> for Refusal {
    fn from(e: MisuseError) -> Self {
        Refusal::Misuse(e)
    }
}

impl From<OptionError> for Refusal {
    fn from(e: OptionError) -> Self {
        Refusal::Heap(e.into())
    }
}

impl From<HeapError> for Refusal {
    fn from(e: HeapError) -> Self {
        Refusal::Heap(e)
    }
}

impl From<TypeError> for Refusal {
    fn from(e: TypeError) -> Self {
        Refusal::Type(e)
    }
}

impl From<RootError> for Refusal {
    fn from(e: RootError) -> Self {
        Refusal::Root(e)
    }
}

impl From<HandleError> for Refusal {
    fn from(e: HandleError) -> Self {
        Refusal::Handle(e)
    }
}

impl From<LayoutError> for Refusal {
    fn from(e: LayoutError) -> Self {
        Refusal::Type(e.into())
    }
}

impl From<OsError> for Refusal {
    fn from(e: OsError) -> Self {
        Refusal::Os(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_tables_have_one_status_and_say_how_many_they_hold() {
        let full = [
            (Refusal::Root(RootError::Full { most: 65536 }), "65536 roots"),
            (Refusal::Handle(HandleError::Full { most: 16777216 }), "16777216 handles"),
            (Refusal::TooManyTypes(262143), "262143 different types"),
            (Refusal::Type(TypeError::Shape(ShapeError::TooMany)), "16075 different layouts"),
            (Refusal::Alloc(AllocError::Layout(ShapeError::TooMany)), "16075 different layouts"),
        ];
        for (refusal, words) in full {
            assert_eq!(refusal.status(), Status::EFULL);
            assert!(refusal.to_string().contains(words), "{refusal}");
        }
    }
}
