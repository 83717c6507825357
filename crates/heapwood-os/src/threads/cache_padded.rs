//! Values on cache lines of their own, against false sharing. The alignment is two lines, since processors prefetch
//! lines in pairs.

use core::ops::{Deref, DerefMut};

/// A value on cache lines of its own.
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
