//! Why something was refused, in words a user can act on.

use core::fmt;
use heapwood_heap::{MAX_WINDOW, NoRoom, ShapeError};
use heapwood_layout::{LayoutError, MAX_MASK_WORDS, ProgramError};
use heapwood_os::OsError;

/// Why no object could be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// What is alive leaves no room under the heap's limit.
    Limit {
        /// What was asked for, in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
        /// What was alive at the last collection, in bytes.
        live: usize,
        /// A collection might make room, but with so much alive it would find little, and collections would take more than
        /// half of the time.
        put_off: bool,
    },
    /// The heap's address range has no room of this size.
    Window(NoRoom),
    /// The memory that the process may have is used up.
    Memory {
        /// What was asked for, in bytes.
        bytes: usize,
        /// What the heap may take up.
        most: usize,
        /// What was alive at the last collection, in bytes.
        live: usize,
    },
    /// The kernel gave no memory.
    Kernel(OsError),
    /// The heap has no room for the type's layout, or cannot use it.
    Layout(ShapeError),
    /// The heap cannot be used here and now.
    Misuse(MisuseError),
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocError::Limit { bytes, limit, live, put_off } => {
                write!(
                    f,
                    "no room for {bytes} bytes: the heap's limit is {limit} bytes, of which {live} were alive after the \
                     last collection"
                )?;
                if *put_off {
                    write!(f, ", and collecting more often would take more than half of the time")?;
                }
                write!(f, "; raise the limit or keep less alive")
            }
            AllocError::Misuse(e) => e.fmt(f),
            AllocError::Memory { bytes, most, live } => write!(
                f,
                "no room for {bytes} bytes: the heap may take up {most} of the memory that the process's control group \
                 allows (memory.max), and {live} were alive after the last collection; raise it or keep less alive"
            ),
            AllocError::Window(e) => e.fmt(f),
            AllocError::Kernel(e) => e.fmt(f),
            AllocError::Layout(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for AllocError {}

/// Why a mutator cannot be used here and now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MisuseError {
    /// Its thread is inside a blocking region.
    Blocked,
    /// Its thread is inside a trace function.
    Tracing,
    /// Its thread was detached.
    Detached,
    /// It is another thread's.
    OtherThread,
    /// Its thread runs on another stack than that it was attached with.
    OtherStack,
}

impl fmt::Display for MisuseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MisuseError::Blocked => "the heap is used inside a blocking region: end the region first",
            MisuseError::Tracing => {
                "the heap is used inside a trace function, in the middle of a collection: such a function only reports \
                 pointers"
            }
            MisuseError::Detached => "the thread was detached from the heap: attach it again, and use what that returns",
            MisuseError::OtherThread => "this mutator is another thread's: each thread attaches for itself",
            MisuseError::OtherStack => {
                "the thread runs on another stack (a fiber's, or one that was switched to for depth) than that it was \
                 attached with, and a collection cannot scan both: allocate and collect on the thread's own stack"
            }
        })
    }
}

impl core::error::Error for MisuseError {}

/// Why a heap could not be made, or a thread not attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapError {
    /// The growth percentage is out of range.
    Percent {
        /// What was asked for.
        percent: u32,
    },
    /// More words than a mask can have.
    MaskWords {
        /// How many were asked for.
        words: usize,
    },
    /// The limit is smaller than one growth step.
    LimitTooSmall {
        /// What was asked for, in bytes.
        limit: usize,
    },
    /// More address space than a heap can use.
    ReserveTooLarge {
        /// What was asked for, in bytes.
        bytes: usize,
    },
    /// The kernel gave no memory for the heap's tables.
    Kernel(OsError),
    /// The kernel has larger pages than heaps can use.
    KernelPages {
        /// Their size in bytes.
        bytes: usize,
    },
    /// The process may have too little memory for any heap.
    Memory {
        /// What it may have, in bytes.
        bytes: usize,
        /// What a heap needs at least.
        least: usize,
    },
    /// The system does not say where this thread's stack ends.
    UnknownStack,
    /// The thread is attached to the heap already.
    AttachedAlready,
    /// The process has no key for a thread-specific value left.
    ThreadKeys,
    /// Threads are attached to the heap.
    MutatorsAttached {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeapError::Percent { percent } => {
                write!(f, "a growth of {percent} percent: it must be 1 to {}", crate::Config::MAX_PERCENT)
            }
            HeapError::MaskWords { words } => {
                write!(f, "masks for types of {words} words: it can be at most {MAX_MASK_WORDS}")
            }
            HeapError::LimitTooSmall { limit } => {
                write!(f, "a limit of {limit} bytes: it must be at least {}", crate::Config::MIN_LIMIT)
            }
            HeapError::ReserveTooLarge { bytes } => {
                write!(f, "an address range of {bytes} bytes: it can be at most {}", MAX_WINDOW)
            }
            HeapError::Kernel(e) => e.fmt(f),
            HeapError::KernelPages { bytes } => write!(
                f,
                "this kernel's pages have {bytes} bytes; heaps work with up to {}: boot one with smaller pages",
                heapwood_os::MOST_KERNEL_PAGE
            ),
            HeapError::Memory { bytes, least } => write!(
                f,
                "the memory control group of this process allows {bytes} bytes (memory.max), and a heap without a limit of \
                 its own needs {least}: raise it, or give the heap a limit"
            ),
            HeapError::UnknownStack => {
                write!(f, "the system does not say where this thread's stack ends: give its address")
            }
            HeapError::AttachedAlready => write!(f, "the thread is attached to this heap already"),
            HeapError::ThreadKeys => write!(
                f,
                "the process has used up its keys for thread-specific values (PTHREAD_KEYS_MAX), or the memory for them: \
                 a thread's end would not be noticed"
            ),
            HeapError::MutatorsAttached { count } => {
                let are = if *count == 1 { "thread is" } else { "threads are" };
                write!(f, "{count} {are} attached to the heap: each detaches itself first")
            }
        }
    }
}

impl core::error::Error for HeapError {}

impl From<OsError> for HeapError {
    fn from(e: OsError) -> Self {
        HeapError::Kernel(e)
    }
}

/// Why a root was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootError {
    /// The table is full.
    Full {
        /// How many it holds.
        most: usize,
    },
    /// The kernel gave no memory for more.
    Kernel(OsError),
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootError::Full { most } => write!(
                f,
                "{most} roots are registered, as many as a heap can have: remove some, register neighbours as one, or \
                 keep objects in an array that one root leads to"
            ),
            RootError::Kernel(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for RootError {}

/// Why no handle was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandleError {
    /// The table is full.
    Full {
        /// How many it holds.
        most: usize,
    },
    /// The kernel gave no memory for more.
    Kernel(OsError),
}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandleError::Full { most } => write!(
                f,
                "{most} handles are held, as many as this heap can have: free some, or keep objects in an array that one \
                 handle leads to"
            ),
            HandleError::Kernel(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for HandleError {}

/// Why a type could not be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeError {
    /// The description is wrong.
    Layout(LayoutError),
    /// The program is wrong.
    Program(ProgramError),
    /// The description is right, but the heap has no room for it, or cannot use it.
    Shape(ShapeError),
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeError::Layout(e) => e.fmt(f),
            TypeError::Program(e) => write!(f, "the program that describes the type is wrong: {e}"),
            TypeError::Shape(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for TypeError {}

impl From<LayoutError> for TypeError {
    fn from(e: LayoutError) -> Self {
        TypeError::Layout(e)
    }
}
