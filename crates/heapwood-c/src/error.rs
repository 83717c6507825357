//! The errors of this interface: those of the crates below, and its own. An error is small, and becomes text when it is
//! reported to C.

use crate::status::Status;
use core::fmt;
use heapwood_gc::{
    AllocError, ArenaError, ExternalError, FinalizeError, FreeError, HandleError, HeapError, MisuseError,
    OptionError, PlainError, RootError, StackError, TailError, TypeError, WeakError, WhyAliveError,
};
use heapwood_heap::{RegisterProgramError, ShapeError};
use heapwood_layout::describe::{DescribeError, ParseError};
use heapwood_layout::{LayoutError, TagError};
use heapwood_os::OsError;

/// An error.
#[derive(Clone, Copy, Debug)]
pub enum Error {
    /// A parameter is NULL that must not be.
    Null(&'static str),
    /// The size field of the options is not set, or cannot be right.
    OptionsSize(usize),
    /// An option is set that this version does not know.
    UnknownOption,
    /// The end of the stack is below the caller's frame.
    StackEnd(usize),
    /// The calling function's frame is not between the bounds of the stack.
    StackBounds(usize, usize),
    /// The heap has no type with this number.
    NoType(u32),
    /// The heap has the maximum number of types.
    TooManyTypes(usize),
    /// An array larger than any object can be.
    ArraySize(usize, usize),
    /// An array of elements with a trace function.
    ArrayOfTraced,
    /// The order of finalisers is none that this version knows.
    FinalizeOrder(u32),
    /// An arena's flags have bits that this version does not know.
    ArenaFlags(u32),
    /// A link's flags have bits that this version does not know.
    LinkFlags(u32),
    /// The value for a handle is not the address of an object.
    NoObject(usize),
    /// The address is not that of a live handle.
    NoHandle(usize),
    /// The address of slots is not aligned.
    NoSlot(usize),
    /// More slots than memory can hold.
    SlotCount(usize),
    /// A range that ends before it begins.
    Range(usize, usize),
    /// The number is not that of a registered root.
    NoRoot(u64),
    /// From a crate below.
    Root(RootError),
    /// From a crate below.
    Stack(StackError),
    /// From a crate below.
    Handle(HandleError),
    /// From a crate below.
    Alloc(AllocError),
    /// From a crate below.
    External(ExternalError),
    /// From a crate below.
    Finalize(FinalizeError),
    /// From a crate below.
    Free(FreeError),
    /// From a crate below.
    Plain(PlainError),
    /// It cannot be told why an object is alive.
    WhyAlive(WhyAliveError),
    /// From a crate below.
    Weak(WeakError),
    /// From a crate below.
    Misuse(MisuseError),
    /// A tag is wrong, or comes too late.
    Tag(TagError),
    /// No objects can have such a tail.
    Tail(TailError),
    /// The type of a tail's header is a program.
    TailHeader(u32),
    /// A tail, or an array, of objects with tails.
    TailOfTails,
    /// The type is not one with a tail.
    NoTail(u32),
    /// A text has the item `val`, and the heap no tags.
    NoTags,
    /// A description is not UTF-8 from this byte on.
    NoText(usize),
    /// A description is not the text of a type.
    Parse(ParseError),
    /// A description is not the text of one type.
    Describe(DescribeError),
    /// From a crate below.
    Heap(HeapError),
    /// From a crate below.
    Type(TypeError),
    /// From a crate below.
    Os(OsError),
}

impl Error {
    /// The status that C gets.
    pub fn status(&self) -> Status {
        match self {
            Error::Null(_)
            | Error::OptionsSize(_)
            | Error::UnknownOption
            | Error::StackEnd(_)
            | Error::StackBounds(..)
            | Error::NoType(_)
            | Error::ArenaFlags(_)
            | Error::FinalizeOrder(_)
            | Error::LinkFlags(_)
            | Error::NoObject(_)
            | Error::NoHandle(_)
            | Error::NoSlot(_)
            | Error::SlotCount(_)
            | Error::Range(..)
            | Error::NoRoot(_)
            | Error::External(ExternalError::Refused(_))
            | Error::Misuse(MisuseError::NoTicket)
            | Error::Root(RootError::NoLibrary { .. } | RootError::Displacement { .. }) => Status::EINVAL,
            Error::Finalize(
                FinalizeError::Misuse(_)
                | FinalizeError::Queued
                | FinalizeError::QueueInUse { .. }
                | FinalizeError::QueueCalled,
            ) => Status::ESTATE,
            Error::Finalize(FinalizeError::Full { .. } | FinalizeError::ManyQueues { .. }) => Status::EFULL,
            Error::Finalize(FinalizeError::Kernel(_) | FinalizeError::NoDescriptor { .. }) => Status::ENOMEM,
            Error::Plain(PlainError::Misuse(_)) | Error::WhyAlive(WhyAliveError::Misuse(_)) => Status::ESTATE,
            Error::WhyAlive(WhyAliveError::Kernel(_)) => Status::ENOMEM,
            Error::WhyAlive(_) => Status::EINVAL,
            Error::Plain(PlainError::Full { .. }) => Status::EFULL,
            Error::Plain(PlainError::Kernel(_)) => Status::ENOMEM,
            Error::Plain(_) => Status::EINVAL,
            Error::Weak(WeakError::Misuse(_)) => Status::ESTATE,
            Error::Weak(WeakError::FullOfLinks { .. }) => Status::EFULL,
            Error::Weak(WeakError::Kernel(_)) => Status::ENOMEM,
            Error::Weak(WeakError::Alloc(e)) => Error::Alloc(*e).status(),
            Error::Weak(_) => Status::EINVAL,
            Error::Root(
                RootError::Full { .. } | RootError::TooManyStacks { .. } | RootError::TooManyExcluded { .. },
            )
            | Error::Handle(HandleError::Full { .. }) => Status::EFULL,
            Error::Root(RootError::Kernel(_)) | Error::Handle(HandleError::Kernel(_)) => Status::ENOMEM,
            Error::TooManyTypes(_) => Status::EFULL,
            Error::External(ExternalError::Alloc(e)) => Error::Alloc(*e).status(),
            Error::ArraySize(..) => Status::ELIMIT,
            Error::ArrayOfTraced => Status::EDESC,
            Error::Alloc(
                AllocError::Limit { .. }
                | AllocError::Memory { .. }
                | AllocError::CollectionsOff { .. }
                | AllocError::NoCollection { .. }
                | AllocError::ReservationFull { .. },
            ) => Status::ELIMIT,
            Error::Alloc(AllocError::Kernel(_)) => Status::ENOMEM,
            Error::Alloc(AllocError::Handle(e)) => Error::Handle(*e).status(),
            Error::Misuse(_)
            | Error::Alloc(AllocError::Misuse(_) | AllocError::Arena(ArenaError::OtherThread { .. }))
            | Error::Free(FreeError::Misuse(_)) => Status::ESTATE,
            Error::Stack(StackError::Busy | StackError::NotOnIt | StackError::Misuse(_)) => Status::ESTATE,
            Error::Free(FreeError::Refused(heapwood_heap::FreeError::Kernel(_))) => Status::ENOMEM,
            Error::Free(_) => Status::EINVAL,
            Error::Heap(HeapError::OutOfRange(_)) => Status::EINVAL,
            Error::Heap(HeapError::Kernel(_) | HeapError::Memory { .. }) => Status::ENOMEM,
            Error::Heap(HeapError::UnknownStack | HeapError::KernelPages { .. }) => Status::ENOSYS,
            Error::Heap(
                HeapError::MutatorsAttached { .. }
                | HeapError::AttachedAlready
                | HeapError::NotGiven
                | HeapError::Finalizers { .. },
            ) => Status::ESTATE,
            Error::Heap(HeapError::ThreadKeys) => Status::ENOMEM,
            Error::Tag(TagError::Late) => Status::ESTATE,
            Error::Tag(TagError::Many) => Status::EFULL,
            Error::Tag(_) => Status::EINVAL,
            Error::NoTags | Error::Tail(_) | Error::TailHeader(_) | Error::TailOfTails => Status::EDESC,
            Error::NoTail(_) => Status::EINVAL,
            Error::NoText(_) | Error::Parse(_) | Error::Describe(_) => Status::EDESC,
            Error::Type(TypeError::Layout(_) | TypeError::Program(_)) => Status::EDESC,
            Error::Alloc(AllocError::Layout(e)) | Error::Type(TypeError::Shape(e)) => match e {
                ShapeError::Program(RegisterProgramError::Nest(_)) => Status::EDESC,
                ShapeError::Program(RegisterProgramError::TooMany) | ShapeError::TooMany => Status::EFULL,
                _ => Status::ENOMEM,
            },
            Error::Os(_) => Status::ENOMEM,
            // Errors that the crates below may add later.
            Error::Root(_)
            | Error::Stack(_)
            | Error::Handle(_)
            | Error::Alloc(_)
            | Error::External(_)
            | Error::Finalize(_)
            | Error::Heap(_)
            | Error::Type(_) => Status::EINVAL,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Null(parameter) => write!(f, "{parameter} is NULL"),
            Error::FinalizeOrder(order) => write!(
                f,
                "{order} is no order of finalisers: pass HW_FINALIZE_ORDERED or HW_FINALIZE_AT_ONCE"
            ),
            Error::OptionsSize(size) => write!(f, "options.size is {size}: hw_options_init sets it"),
            Error::UnknownOption => {
                write!(f, "an option is set that this version of the library does not know")
            }
            Error::StackEnd(end) => {
                write!(
                    f,
                    "stack_hi is {end:#x}, below the calling function: pass the highest address of the stack"
                )
            }
            Error::StackBounds(lo, hi) => write!(
                f,
                "the stack from {lo:#x} to {hi:#x} is not that of the calling function: lo is its lowest byte, and hi one past its \
                 highest"
            ),
            Error::NoType(number) => write!(f, "{number:#x} is not the number of a type of this heap"),
            Error::TooManyTypes(most) => {
                write!(
                    f,
                    "more than {most} different types in one heap: register one once and keep its number"
                )
            }
            Error::ArraySize(n, size) => {
                write!(f, "an array of {n} elements of {size} bytes is larger than any object can be")
            }
            Error::ArrayOfTraced => {
                write!(f, "no arrays of a type with a trace function, which knows single objects only")
            }
            Error::ArenaFlags(flags) => {
                write!(f, "flags is {flags:#x}: this version of the library knows only HW_ARENA_RECYCLE (1)")
            }
            Error::LinkFlags(flags) => {
                write!(f, "flags is {flags:#x}: this version of the library knows only HW_LINK_LONG (1)")
            }
            Error::NoObject(addr) => write!(f, "{addr:#x} is not the address of an object"),
            Error::NoHandle(addr) => write!(f, "{addr:#x} is no handle of this heap that is held"),
            Error::NoSlot(addr) => {
                write!(f, "slots is {addr:#x}, no multiple of 8: pointer slots are aligned words")
            }
            Error::SlotCount(n) => write!(f, "{n} slots are more than there can be"),
            Error::Range(lo, hi) => {
                write!(f, "a range from {lo:#x} to {hi:#x}: lo is its first byte, and hi one past its last")
            }
            Error::NoRoot(root) => {
                write!(
                    f,
                    "{root:#x} is no root of this heap, or was removed before: pass the number that its registration returned, once"
                )
            }
            Error::Root(e) => e.fmt(f),
            Error::Stack(e) => e.fmt(f),
            Error::Handle(e) => e.fmt(f),
            Error::Alloc(e) => e.fmt(f),
            Error::External(e) => e.fmt(f),
            Error::Finalize(e) => e.fmt(f),
            Error::Free(e) => e.fmt(f),
            Error::Plain(e) => e.fmt(f),
            Error::WhyAlive(e) => e.fmt(f),
            Error::Weak(e) => e.fmt(f),
            Error::Misuse(e) => e.fmt(f),
            Error::Tag(e) => e.fmt(f),
            Error::Tail(e) => e.fmt(f),
            Error::TailHeader(number) => {
                write!(
                    f,
                    "the header's type, {number:#x}, has more than 256 words or is a program: a header has a mask"
                )
            }
            Error::TailOfTails => {
                write!(f, "no tails or arrays of objects that have tails: their sizes differ")
            }
            Error::NoTail(number) => {
                write!(f, "{number:#x} is not a type with a tail: pass what hw_type_tail has filled")
            }
            Error::NoTags => {
                write!(
                    f,
                    "`val` is a slot of words with tags, and the heap has none: give it tags first (hw_heap_tag)"
                )
            }
            Error::NoText(byte) => write!(f, "byte {byte}: the description is not UTF-8"),
            Error::Parse(e) => e.fmt(f),
            Error::Describe(e) => e.fmt(f),
            Error::Heap(e) => e.fmt(f),
            Error::Type(e) => e.fmt(f),
            Error::Os(e) => e.fmt(f),
        }
    }
}

impl From<AllocError> for Error {
    fn from(e: AllocError) -> Self {
        Error::Alloc(e)
    }
}

impl From<ExternalError> for Error {
    fn from(e: ExternalError) -> Self {
        Error::External(e)
    }
}

impl From<FinalizeError> for Error {
    fn from(e: FinalizeError) -> Self {
        Error::Finalize(e)
    }
}

impl From<PlainError> for Error {
    fn from(e: PlainError) -> Self {
        Error::Plain(e)
    }
}

impl From<WeakError> for Error {
    fn from(e: WeakError) -> Self {
        Error::Weak(e)
    }
}

impl From<MisuseError> for Error {
    fn from(e: MisuseError) -> Self {
        Error::Misuse(e)
    }
}

impl From<OptionError> for Error {
    fn from(e: OptionError) -> Self {
        Error::Heap(e.into())
    }
}

impl From<HeapError> for Error {
    fn from(e: HeapError) -> Self {
        Error::Heap(e)
    }
}

impl From<TypeError> for Error {
    fn from(e: TypeError) -> Self {
        Error::Type(e)
    }
}

impl From<RootError> for Error {
    fn from(e: RootError) -> Self {
        Error::Root(e)
    }
}

impl From<StackError> for Error {
    fn from(e: StackError) -> Self {
        Error::Stack(e)
    }
}

impl From<HandleError> for Error {
    fn from(e: HandleError) -> Self {
        Error::Handle(e)
    }
}

impl From<LayoutError> for Error {
    fn from(e: LayoutError) -> Self {
        Error::Type(e.into())
    }
}

impl From<TagError> for Error {
    fn from(e: TagError) -> Self {
        Error::Tag(e)
    }
}

impl From<TailError> for Error {
    fn from(e: TailError) -> Self {
        Error::Tail(e)
    }
}

impl From<OsError> for Error {
    fn from(e: OsError) -> Self {
        Error::Os(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_tables_have_one_status_and_name_their_size() {
        let full = [
            (Error::Root(RootError::Full { most: 65536 }), "65536 roots"),
            (Error::Root(RootError::TooManyStacks { most: 1048576 }), "1048576 stacks"),
            (Error::Handle(HandleError::Full { most: 16777216 }), "16777216 handles"),
            (Error::TooManyTypes(262143), "262143 different types"),
            (Error::Type(TypeError::Shape(ShapeError::TooMany)), "16073 different layouts"),
            (Error::Alloc(AllocError::Layout(ShapeError::TooMany)), "16073 different layouts"),
        ];
        for (error, words) in full {
            assert_eq!(error.status(), Status::EFULL);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
