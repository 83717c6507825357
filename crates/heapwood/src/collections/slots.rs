//! Arrays of collections: room for elements, of which the first are values and the others zeros. Invariant: who has the array knows
//! which places have values; a collection looks at all, and zeros lead nowhere. Elements without pointers are not zeroed.

use crate::gc::Gc;
use crate::mutator::Mutator;
use crate::place::{self, Slot};
use crate::slice::Slice;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use heapwood_gc::AllocError;

/// Room for so many elements as the header says.
#[repr(transparent)]
pub(crate) struct Slots<T>(Slice<MaybeUninit<T>>);

/// The bytes of a small array: a few elements, and the header.
const SMALL: usize = 64;
const HEADER: usize = size_of::<usize>();

impl<T: Slot> Slots<T> {
    /// An array of `len` places, all without a value. May collect.
    pub(crate) fn new(m: &Mutator, len: usize) -> Result<Gc<Self>, AllocError> {
        let slice = m.empty_slice::<T>(len)?;
        // SAFETY: a new object, whose header and layout are those of a slice of `T`.
        Ok(unsafe { Gc::from_raw(slice.cast()) })
    }

    /// The places of an array that is to replace one of `len`, and has at least `needed`: with its header it fills a cell.
    pub(crate) fn grown(len: usize, needed: usize) -> usize {
        let element = size_of::<T>().max(1);
        let few = ((SMALL - HEADER) / element).max(1);
        let most = (isize::MAX as usize) / element;
        needed.max(len.saturating_mul(2).saturating_add(1).min(most)).max(few)
    }
}

impl<T> Slots<T> {
    /// Its places.
    #[inline(always)]
    pub(crate) fn len(this: Gc<Self>) -> usize {
        this.0.len()
    }

    /// Its first place.
    #[inline(always)]
    pub(crate) fn start(this: Gc<Self>) -> *mut T {
        // SAFETY: a `Gc` is not null.
        unsafe { Slice::items(NonNull::new_unchecked(Gc::as_ptr(this).cast::<Slice<T>>())) }
    }

    #[inline(always)]
    fn at(this: Gc<Self>, i: usize) -> *mut T {
        debug_assert!(i < Self::len(this));
        // SAFETY: callers name a place of the array.
        unsafe { Self::start(this).add(i) }
    }
}

impl<T: Slot> Slots<T> {
    /// The value at a place.
    ///
    /// # Safety
    /// 1. `i` is a place with a value.
    #[inline(always)]
    pub(crate) unsafe fn load(this: Gc<Self>, i: usize) -> T {
        // SAFETY: contract 1. A collection stays with its thread.
        unsafe { place::load_own(Self::at(this, i)) }
    }

    /// Stores a value.
    ///
    /// # Safety
    /// 1. `i` is a place of the array.
    #[inline(always)]
    pub(crate) unsafe fn store(m: &Mutator, this: Gc<Self>, i: usize, value: T) {
        // SAFETY: contract 1. A collection stays with its thread.
        unsafe { place::store(m, Self::at(this, i), value) }
    }

    /// Takes the value away.
    ///
    /// # Safety
    /// 1. `i` is a place of the array.
    #[inline(always)]
    pub(crate) unsafe fn clear(m: &Mutator, this: Gc<Self>, i: usize) {
        // SAFETY: contract 1. A collection stays with its thread.
        unsafe { place::clear(m, Self::at(this, i)) }
    }

    /// Copies the first `n` values into a new array, without the barrier.
    ///
    /// # Safety
    /// 1. The first `n` places of `from` have values, and `to` has as many places.
    /// 2. `to` was made by the calling thread, which has not polled or allocated since.
    pub(crate) unsafe fn fill(to: Gc<Self>, from: Gc<Self>, n: usize) {
        if n > 0 {
            // SAFETY: contracts 1 and 2; the two are different objects.
            unsafe { Self::at(to, 0).copy_from_nonoverlapping(Self::at(from, 0), n) };
        }
    }

    /// The array as a slice.
    ///
    /// # Safety
    /// 1. All places have values, and nobody stores into it any more.
    pub(crate) unsafe fn into_slice(this: Gc<Self>) -> Gc<Slice<T>> {
        // SAFETY: contract 1; a slice's header and layout.
        unsafe { Gc::from_raw(NonNull::new_unchecked(Gc::as_ptr(this).cast())) }
    }

    /// The first `n` values.
    ///
    /// # Safety
    /// 1. The first `n` places have values, which nobody changes as long as the result is used.
    pub(crate) unsafe fn values<'a>(this: Gc<Self>, n: usize) -> &'a [T] {
        // SAFETY: contract 1.
        unsafe { core::slice::from_raw_parts(Self::start(this), n) }
    }
}
