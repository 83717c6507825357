//! The random numbers of all workloads and their peers: xorshift64* with a fixed seed.

/// xorshift64* (Marsaglia; Vigna), seeded alike in every program.
pub struct Random(u64);

impl Random {
    /// The generator at its first number.
    #[allow(clippy::new_without_default, reason = "a generator has a seed, not a default")]
    pub fn new() -> Self {
        Random(0x9E37_79B9_7F4A_7C15)
    }

    /// The next number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
