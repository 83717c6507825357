//! One error for programs that pass all on. Invariant: `?` converts every error of this crate into it.

use core::fmt;
use heapwood_gc::{AllocError, HeapError, Misuse, Refusal};

/// Any error of this crate: `?` converts each into it.
///
/// ```
/// use heapwood::{Config, Heap};
///
/// fn main() -> Result<(), heapwood::Error> {
///     // SAFETY: this program keeps no `Gc` but on the stack.
///     let heap = unsafe { Heap::new(Config::default()) }?; // a HeapError
///     let m = heap.attach()?;
///     let number = m.try_alloc(7u64)?; // an AllocError
///     let root = m.try_root(number)?; // a Refusal
///     let file = m.alloc_finalized(String::from("owned"))?; // a Refusal, and the value
///     heap.on_collection(|_, _| ())?; // a Misuse
///     assert_eq!(*root.get(&m) as usize, file.len() + 2);
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A heap was not made, ended or set otherwise, or a thread not attached.
    #[error(transparent)]
    Heap(#[from] HeapError),
    /// Nothing was allocated.
    #[error(transparent)]
    Alloc(#[from] AllocError),
    /// A call was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A mutator cannot be used here and now.
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

/// Drops the value that came back.
impl<T> From<(Refusal, T)> for Error {
    fn from((refusal, _): (Refusal, T)) -> Self {
        refusal.into()
    }
}

/// Shows the sentence, which is what `unwrap` and a `main` that returns the error print.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
