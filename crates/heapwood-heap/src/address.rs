//! Addresses and objects as types of their own, so that no function takes one for the other, or a count for either. A
//! value is not proof that anything is there: functions that read memory through one are unsafe, or check first.
//!
//! Public functions use these types. Inner loops use plain words: bitmaps, page numbers and the collector's mark stack
//! are arithmetic on offsets, where a name at each step says less than the step.

use core::fmt;
use core::ops::Add;
use core::ptr::NonNull;

/// An address of anything, or null.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Address(usize);

/// The address of an object's first byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ObjectRef(usize);

impl Address {
    /// The address `value`.
    #[inline(always)]
    pub const fn new(value: usize) -> Self {
        Address(value)
    }

    /// The number.
    #[inline(always)]
    pub const fn get(self) -> usize {
        self.0
    }

    /// The bytes from `base` up to it; more than any heap has if it lies below.
    #[inline(always)]
    pub(crate) const fn offset_from(self, base: Address) -> usize {
        self.0.wrapping_sub(base.0)
    }
}

impl Add<usize> for Address {
    type Output = Address;
    /// The address `bytes` bytes further.
    #[inline(always)]
    fn add(self, bytes: usize) -> Address {
        Address(self.0 + bytes)
    }
}

impl<T> From<*const T> for Address {
    #[inline(always)]
    fn from(pointer: *const T) -> Self {
        Address(pointer as usize)
    }
}

impl<T> From<*mut T> for Address {
    #[inline(always)]
    fn from(pointer: *mut T) -> Self {
        Address(pointer as usize)
    }
}

impl From<ObjectRef> for Address {
    #[inline(always)]
    fn from(object: ObjectRef) -> Self {
        Address(object.0)
    }
}

impl ObjectRef {
    /// The object whose first byte is at `address`.
    #[inline(always)]
    pub const fn new(address: usize) -> Self {
        ObjectRef(address)
    }

    /// Its address as a number.
    #[inline(always)]
    pub const fn get(self) -> usize {
        self.0
    }

    /// A hash of it, for indexes of objects; its lowest bits are to be used. Objects of one block have hashes of one block, since
    /// programs use objects together that lie together: were they scattered, each look-up would miss the cache.
    #[inline(always)]
    pub const fn block_hash(self) -> usize {
        let (block, within) = (self.0 as u64 >> 10, self.0 >> 4 & 63);
        (block.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize ^ within
    }
}

impl<T> From<NonNull<T>> for ObjectRef {
    #[inline(always)]
    fn from(pointer: NonNull<T>) -> Self {
        ObjectRef(pointer.as_ptr() as usize)
    }
}

/// Both are shown as addresses are.
macro_rules! hexadecimal {
    ($($t:ty),*) => { $(
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
        impl fmt::LowerHex for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }
    )* };
}
hexadecimal!(Address, ObjectRef);
