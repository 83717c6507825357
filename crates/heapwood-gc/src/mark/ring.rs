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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_ring_is_a_bounded_queue() {
        let mut places = [MaybeUninit::uninit(); 4];
        let mut ring = Ring::new(&mut places);
        let mut queue = VecDeque::new();
        for step in 0..1000 {
            // At first more values come in than go out, then fewer.
            if step * 7 % 10 < if step % 100 < 50 { 7 } else { 3 } {
                if ring.is_full() {
                    assert_eq!(Some(ring.replace(step)), queue.pop_front());
                } else {
                    ring.push(step);
                }
                queue.push_back(step);
            } else if !ring.is_empty() {
                assert_eq!(Some(ring.pop()), queue.pop_front());
            }
            assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
            assert_eq!(ring.is_full(), queue.len() == 4);
        }
    }
}
