//! A fast hash for maps, the same in every machine: multiply and rotate, as rustc's own maps do. Whoever may choose keys can make
//! it slow, so it is for programs that one trusts.

use std::hash::{BuildHasherDefault, Hasher};

/// For `HashMap` and its like.
pub type Fast = BuildHasherDefault<FastHasher>;

/// The hash so far.
#[derive(Default, Clone, Copy)]
pub struct FastHasher(u64);

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.add(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        for &byte in words.remainder() {
            self.add(byte.into());
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(byte.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    /// The upper bits are the good ones; a rotation gives them to tables that take the lower.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}
