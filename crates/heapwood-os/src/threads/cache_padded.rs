//! Values on cache lines of their own, so that threads that read their neighbours do not wait for those who write
//! them. Two lines, since processors fetch lines in pairs.

use core::ops::{Deref, DerefMut};

/// A value apart from its neighbours.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
