//! A heap in which several threads have a session each. Invariant: a thread has one session of it at most, since it is attached once.

use super::calls::Session;
use super::mutation::Mutation;
use super::part::Part;
use super::rootable::{RootOf, Rootable};
use super::seat::new_heap;
use crate::error::Error;
use crate::heap::Inner;
use crate::trace::Trace;
use core::fmt;
use heapwood_gc::{Config, Stats};
use std::sync::Arc;

/// A heap for sessions of several threads. Clones are the same heap.
///
/// ```
/// #![forbid(unsafe_code)]
/// use heapwood::session::{Gc, SessionHeap};
/// use heapwood::{Config, Rootable};
///
/// let heap = SessionHeap::new(Config::default())?;
/// let sums: Vec<u64> = std::thread::scope(|scope| {
///     let count = |from: u64| {
///         let mut session = heap.session::<Rootable![Gc<'_, [u64; 3]>]>(|m| m.alloc([from; 3])).unwrap();
///         session.collect();
///         session.mutate(|_, numbers| numbers.iter().sum())
///     };
///     let threads = [1, 2].map(|from| scope.spawn(move || count(from)));
///     threads.map(|thread| thread.join().unwrap()).into()
/// });
/// assert_eq!(sums, [3, 6]);
/// # Ok::<(), heapwood::Error>(())
/// ```
///
/// Objects of types that are [`Shared`](crate::Shared) go from one session to another by [`Mutation::stash`].
#[derive(Clone)]
pub struct SessionHeap {
    inner: Arc<Inner>,
}

impl SessionHeap {
    /// Makes a heap. It stops threads by polls, scans no stacks and looks for no roots in libraries, whatever `config` says.
    ///
    /// # Errors
    /// As [`Heap::new`](crate::Heap::new).
    pub fn new(config: Config) -> Result<Self, Error> {
        Ok(SessionHeap { inner: new_heap(config)? })
    }

    /// Begins the calling thread's session, with the root that `root` returns.
    ///
    /// # Errors
    /// The thread has a session of this heap; there is no memory for its part in the heap, or for the root.
    pub fn session<R: for<'a> Rootable<'a, Root: Trace>>(
        &self,
        root: impl for<'gc> FnOnce(&'gc Mutation<'gc>) -> RootOf<'gc, R>,
    ) -> Result<Session<R>, Error> {
        self.try_session(|m| Ok(root(m)))
    }

    /// The same with a function that may fail.
    ///
    /// # Errors
    /// As [`SessionHeap::session`], and what `root` returns.
    pub fn try_session<R: for<'a> Rootable<'a, Root: Trace>, E: From<Error>>(
        &self,
        root: impl for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<RootOf<'gc, R>, E>,
    ) -> Result<Session<R>, E> {
        Session::begin(Part::new(&self.inner, false).map_err(Error::from)?, root)
    }

    /// The statistics now.
    pub fn stats(&self) -> Stats {
        self.inner.heap.inspect().stats()
    }

    /// Returns the memory of all free pages to the system now. The result is an upper bound of the bytes returned.
    pub fn release_free_memory(&self) -> usize {
        self.inner.heap.memory().release_free()
    }
}

impl fmt::Debug for SessionHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHeap").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
