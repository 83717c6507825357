//! Groups of control bytes, which a table compares at once: 16 by a vector instruction, or 8 in a word. The idea, and the arithmetic
//! in a word, are those of Abseil's Swiss tables and hashbrown. Invariant: a byte of a place that has an entry is the top seven bits
//! of its key's hash; all others have the top bit.

/// A place that never had an entry since the table was made: a search ends there.
pub(crate) const EMPTY: u8 = 0xff;
/// A place whose entry was removed.
pub(crate) const DELETED: u8 = 0x80;

/// Whether a place with this byte has an entry.
#[inline(always)]
pub(crate) fn is_full(control: u8) -> bool {
    control & 0x80 == 0
}

#[cfg(target_arch = "x86_64")]
pub(crate) use vector::{Bits, GROUP, Group};
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use word::{Bits, GROUP, Group};

#[cfg(target_arch = "x86_64")]
mod vector {
    use super::EMPTY;
    use core::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};

    /// The bytes of a group.
    pub(crate) const GROUP: usize = 16;

    /// A group.
    #[derive(Clone, Copy)]
    pub(crate) struct Group(__m128i);

    /// Positions in a group, a bit each.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct Bits(u32);

    impl Group {
        /// # Safety
        /// 1. `at` has as many readable bytes.
        #[inline(always)]
        pub(crate) unsafe fn load(at: *const u8) -> Self {
            // SAFETY: contract 1; the load needs no alignment.
            Group(unsafe { _mm_loadu_si128(at.cast()) })
        }

        /// The positions with this byte.
        #[inline(always)]
        pub(crate) fn matching(self, byte: u8) -> Bits {
            // SAFETY: the instructions are part of x86-64, and take no memory.
            Bits(unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.0, _mm_set1_epi8(byte as i8))) } as u32)
        }

        /// The positions that are empty.
        #[inline(always)]
        pub(crate) fn empty(self) -> Bits {
            self.matching(EMPTY)
        }

        /// The positions without an entry.
        #[inline(always)]
        pub(crate) fn free(self) -> Bits {
            // SAFETY: as above.
            Bits(unsafe { _mm_movemask_epi8(self.0) } as u32)
        }

        /// The positions with an entry.
        #[inline(always)]
        pub(crate) fn full(self) -> Bits {
            Bits(self.free().0 ^ 0xffff)
        }
    }

    impl Bits {
        pub(crate) const NONE: Bits = Bits(0);

        #[inline(always)]
        pub(crate) fn any(self) -> bool {
            self.0 != 0
        }

        /// The first position, which is taken out.
        #[inline(always)]
        pub(crate) fn take(&mut self) -> Option<usize> {
            let first = (self.0 != 0).then(|| self.0.trailing_zeros() as usize);
            self.0 &= self.0.wrapping_sub(1);
            first
        }

        /// Positions before the first, or all.
        #[inline(always)]
        pub(crate) fn before_first(self) -> usize {
            (self.0 | 1 << GROUP).trailing_zeros() as usize
        }

        /// Positions behind the last, or all.
        #[inline(always)]
        pub(crate) fn behind_last(self) -> usize {
            (self.0 as u16).leading_zeros() as usize
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod word {
    /// The bytes of a group.
    pub(crate) const GROUP: usize = 8;

    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = LOW << 7;

    /// A group.
    #[derive(Clone, Copy)]
    pub(crate) struct Group(u64);

    /// Positions in a group, the top bit of a byte each.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct Bits(u64);

    impl Group {
        /// # Safety
        /// 1. `at` has as many readable bytes.
        #[inline(always)]
        pub(crate) unsafe fn load(at: *const u8) -> Self {
            // SAFETY: contract 1.
            Group(u64::from_le_bytes(unsafe { at.cast::<[u8; GROUP]>().read() }))
        }

        /// The positions with this byte, which has no top bit; also some behind them that differ in the lowest bit alone.
        #[inline(always)]
        pub(crate) fn matching(self, byte: u8) -> Bits {
            let differs = self.0 ^ (LOW * u64::from(byte));
            Bits(differs.wrapping_sub(LOW) & !differs & HIGH)
        }

        /// The positions that are empty.
        #[inline(always)]
        pub(crate) fn empty(self) -> Bits {
            Bits(self.0 & self.0 << 1 & HIGH)
        }

        /// The positions without an entry.
        #[inline(always)]
        pub(crate) fn free(self) -> Bits {
            Bits(self.0 & HIGH)
        }

        /// The positions with an entry.
        #[inline(always)]
        pub(crate) fn full(self) -> Bits {
            Bits(!self.0 & HIGH)
        }
    }

    impl Bits {
        pub(crate) const NONE: Bits = Bits(0);

        #[inline(always)]
        pub(crate) fn any(self) -> bool {
            self.0 != 0
        }

        /// The first position, which is taken out.
        #[inline(always)]
        pub(crate) fn take(&mut self) -> Option<usize> {
            let first = (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8);
            self.0 &= self.0.wrapping_sub(1);
            first
        }

        /// Positions before the first, or all.
        #[inline(always)]
        pub(crate) fn before_first(self) -> usize {
            self.0.trailing_zeros() as usize / 8
        }

        /// Positions behind the last, or all.
        #[inline(always)]
        pub(crate) fn behind_last(self) -> usize {
            self.0.leading_zeros() as usize / 8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DELETED, EMPTY, is_full};

    macro_rules! agrees_with_a_loop {
        ($name:ident, $group:ident) => {
            #[test]
            fn $name() {
                use super::$group::{Bits, GROUP, Group};
                let all = |mut bits: Bits| core::iter::from_fn(move || bits.take()).collect::<Vec<_>>();
                let mut random = 0x9E37_79B9_7F4A_7C15u64;
                for _ in 0..20_000 {
                    let bytes: [u8; GROUP] = core::array::from_fn(|_| {
                        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                        match random >> 60 {
                            0..4 => EMPTY,
                            4..6 => DELETED,
                            6..10 => 0x33,
                            10 => 0x32,
                            _ => (random >> 40) as u8 & 0x7f,
                        }
                    });
                    // SAFETY: the array is a group long.
                    let group = unsafe { Group::load(bytes.as_ptr()) };
                    let that = |is: &dyn Fn(u8) -> bool| -> Vec<usize> {
                        (0..GROUP).filter(|&i| is(bytes[i])).collect()
                    };
                    assert_eq!(all(group.empty()), that(&|b| b == EMPTY));
                    assert_eq!(all(group.free()), that(&|b| b >= DELETED));
                    assert_eq!(all(group.full()), that(&is_full));
                    let (found, wanted) = (all(group.matching(0x33)), that(&|b| b == 0x33));
                    assert!(wanted.iter().all(|i| found.contains(i)));
                    assert!(found.iter().all(|&i| bytes[i] | 1 == 0x33));
                    let empty = that(&|b| b == EMPTY);
                    assert_eq!(group.empty().any(), !empty.is_empty());
                    assert_eq!(group.empty().before_first(), *empty.first().unwrap_or(&GROUP));
                    let behind = empty.last().map_or(GROUP, |last| GROUP - 1 - last);
                    assert_eq!(group.empty().behind_last(), behind);
                }
                assert!(all(Bits::NONE).is_empty());
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    agrees_with_a_loop!(vectors_agree_with_a_loop, vector);
    agrees_with_a_loop!(words_agree_with_a_loop, word);
}
