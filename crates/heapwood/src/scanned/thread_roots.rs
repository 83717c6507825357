//! The thread-local data of attached threads as roots. Those of a thread that was started lie on its stack, as the C library makes it, and are
//! scanned with that; those of the first thread, and of libraries that were opened later, do not. Invariant: they are roots as long as the
//! thread's [`Attached`](crate::Attached) exists.

use super::is_used;
use crate::heap::Inner;
use core::ops::Range;
use heapwood_gc::{HeapError, RootError, RootToken};
use heapwood_os::process::loaded::for_each_library;
use heapwood_os::threads::stack::StackBounds;
use std::sync::Arc;

/// The most libraries with thread-local data that are looked at.
const MOST: usize = 64;

/// Those of a thread, which is attached to a heap.
pub(crate) struct ThreadRoots {
    tokens: Vec<RootToken>,
    inner: Arc<Inner>,
}

impl ThreadRoots {
    /// Those of the calling thread; none if blocks are not scanned.
    ///
    /// # Errors
    /// There is no memory for the roots.
    pub(crate) fn here(inner: &Arc<Inner>) -> Result<Option<Self>, HeapError> {
        if !is_used() {
            return Ok(None);
        }
        // The loader's lock is held during the look: nothing is allocated then.
        let (mut data, mut count) = ([const { 0..0 }; MOST], 0);
        let stack = StackBounds::current();
        for_each_library(|library| {
            let outside = |data: &Range<usize>| {
                stack.is_none_or(|stack| data.start < stack.low || data.start >= stack.high)
            };
            if let Some(found) = library.thread_data().filter(outside) {
                data[count] = found;
                count += 1;
            }
            count < MOST
        });
        let mut roots = ThreadRoots { tokens: Vec::new(), inner: inner.clone() };
        for data in &data[..count] {
            // SAFETY: they stay as long as the thread, and the library, which a thread that uses its variables does not close.
            match unsafe { inner.heap.roots().add_range(data.start, data.end) } {
                Ok(token) => roots.tokens.push(token),
                Err(RootError::Kernel(error)) => return Err(error.into()),
                // The table is full: a program with a million roots.
                Err(_) => break,
            }
        }
        Ok(Some(roots))
    }
}

impl Drop for ThreadRoots {
    fn drop(&mut self) {
        for &token in &self.tokens {
            self.inner.heap.roots().remove(token);
        }
    }
}
