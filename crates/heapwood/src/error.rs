//! One error that all errors of this crate convert into, for functions that use several of its parts. Invariant: it says what the
//! error in it says, no more; each part keeps the narrow type that names what can go wrong there.

use core::fmt;
use heapwood_gc::{
    AllocError, ArenaError, ExternalError, FinalizeError, FreeError, HandleError, HeapError, MisuseError,
    OptionError, RootError, StackError,
};

/// Any error of this crate, for `?` in functions that meet several:
///
/// ```
/// use heapwood::{Config, Error, Heap};
///
/// fn sum() -> Result<u64, Error> {
///     // SAFETY: this program keeps `Gc`s on the stacks of attached threads and in roots only.
///     let heap = unsafe { Heap::new(Config::default()) }?;
///     let m = heap.attach()?;
///     m.external(100)?;
///     let root = m.try_root(m.try_alloc_slice(10, |i| i as u64)?)?;
///     Ok(root.get(&m).iter().sum())
/// }
/// assert_eq!(sum()?, 45);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A heap could not be made, or a thread not attached.
    Heap(HeapError),
    /// There is no memory for an object.
    Alloc(AllocError),
    /// There is no memory for a root.
    Handle(HandleError),
    /// Memory outside the heap was not counted.
    External(ExternalError),
    /// A value was not kept for an object.
    Finalize(FinalizeError),
    /// An object was not freed.
    Free(FreeError),
    /// A call at a wrong time or place.
    Misuse(MisuseError),
    /// A stack was not registered, or not switched.
    Stack(StackError),
    /// Memory could not be made a root.
    Root(RootError),
    /// An arena could not be used.
    Arena(ArenaError),
}

macro_rules! from {
    ($($variant:ident($error:ty),)*) => {
        $(
            impl From<$error> for Error {
                fn from(error: $error) -> Self {
                    Error::$variant(error)
                }
            }
        )*

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Error::$variant(error) => error.fmt(f),)*
                }
            }
        }
    };
}

from! {
    Heap(HeapError),
    Alloc(AllocError),
    Handle(HandleError),
    External(ExternalError),
    Finalize(FinalizeError),
    Free(FreeError),
    Misuse(MisuseError),
    Stack(StackError),
    Root(RootError),
    Arena(ArenaError),
}

// Its text is that of the error in it, so that is not a source beside it.
impl core::error::Error for Error {}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Self {
        Error::Heap(error.into())
    }
}

/// Of [`Mutator::alloc_finalized`](crate::Mutator::alloc_finalized) and [`Mutator::finalize`](crate::Mutator::finalize): the
/// value that came back is dropped.
impl<T> From<(FinalizeError, T)> for Error {
    fn from((error, _): (FinalizeError, T)) -> Self {
        Error::Finalize(error)
    }
}
