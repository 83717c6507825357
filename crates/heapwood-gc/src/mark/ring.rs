//! A ring of edges or objects that wait for their memory, oldest first. Invariant: its places hold `len` values from
//! `out` on. The places are borrowed, so that a loop can keep the two numbers in registers.

use core::mem::MaybeUninit;

/// A queue of at most `N` values, a power of two.
pub(super) struct Ring<'a, T, const N: usize> {
    places: &'a mut [MaybeUninit<T>; N],
    out: usize,
    len: usize,
}

impl<'a, T: Copy, const N: usize> Ring<'a, T, N> {
    const MASK: usize = {
        assert!(N.is_power_of_two());
        N - 1
    };

    /// An empty ring in `places`.
    #[inline(always)]
    pub(super) fn new(places: &'a mut [MaybeUninit<T>; N]) -> Self {
        Ring { places, out: 0, len: 0 }
    }

    /// The number of values.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no value.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it has no room.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.len == N
    }

    /// Adds a value to a ring that is not full.
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        debug_assert!(!self.is_full());
        self.places[(self.out + self.len) & Self::MASK].write(value);
        self.len += 1;
    }

    /// Takes the oldest value of a full ring and adds `value` in its place.
    #[inline(always)]
    pub(super) fn replace(&mut self, value: T) -> T {
        debug_assert!(self.is_full());
        let place = &mut self.places[self.out & Self::MASK];
        self.out += 1;
        // SAFETY: all places of a full ring hold values.
        unsafe { core::mem::replace(place, MaybeUninit::new(value)).assume_init() }
    }

    /// Takes the oldest value of a ring that is not empty.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> T {
        debug_assert!(!self.is_empty());
        let place = self.places[self.out & Self::MASK];
        self.out += 1;
        self.len -= 1;
        // SAFETY: the ring was not empty, and the place at `out` holds the oldest.
        unsafe { place.assume_init() }
    }
}
