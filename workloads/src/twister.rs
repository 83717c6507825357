//! The random numbers of D's benchmark programs: the Mersenne Twister of Matsumoto and Nishimura ("Mersenne Twister: a
//! 623-dimensionally equidistributed uniform pseudo-random number generator", 1998) with 32 bits, and whole numbers
//! drawn from a range as D's standard library draws them. Invariant: the same numbers as `Mt19937` and `uniform!"[]"`
//! give there, so that all programs ask for the same sizes in the same order.

const WORDS: usize = 624;
/// The distance to the word that each word is mixed with.
const AHEAD: usize = 397;

/// The generator, MT19937.
pub struct Twister {
    words: [u32; WORDS],
    next: usize,
}

impl Twister {
    /// The generator at the first number of a seed.
    pub fn new(seed: u32) -> Self {
        let mut words = [seed; WORDS];
        for i in 1..WORDS {
            let last = words[i - 1];
            words[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Twister { words, next: WORDS }
    }

    /// The next number.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        let mut x = self.words[self.next];
        self.next += 1;
        x ^= x >> 11;
        x ^= (x << 7) & 0x9d2c_5680;
        x ^= (x << 15) & 0xefc6_0000;
        x ^ (x >> 18)
    }

    /// The next number from `low` to `high`, inclusive: the remainder of a number by the size of the range. Numbers in
    /// the last, incomplete range are drawn again.
    #[inline]
    pub fn within(&mut self, low: u32, high: u32) -> u32 {
        let range = high - low + 1;
        loop {
            let number = self.next_u32();
            let rest = number % range;
            if number - rest <= u32::MAX - (range - 1) {
                return low + rest;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn twist(&mut self) {
        for i in 0..WORDS {
            let (this, next) = (self.words[i], self.words[(i + 1) % WORDS]);
            let both = (this & 0x8000_0000) | (next & 0x7fff_ffff);
            let odd = if next & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[i] = self.words[(i + AHEAD) % WORDS] ^ (both >> 1) ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the authors' output for a seed, and the ten thousandth, which the C++ standard states for
    /// `std::mt19937` with its default seed.
    #[test]
    fn the_numbers_equal_the_authors() {
        let mut usual = Twister::new(5489);
        let first: [u32; 5] = std::array::from_fn(|_| usual.next_u32());
        assert_eq!(first, [3_499_211_612, 581_869_302, 3_890_346_734, 3_586_334_585, 545_404_204]);
        let last = (5..10_000).map(|_| usual.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
    }

    /// As a program in D prints them: `uniform!"[]"` of a `Mt19937` with the seeds of the workloads.
    #[test]
    fn ranges_equal_those_of_d() {
        let draw = |seed, low, high| {
            let mut twister = Twister::new(seed);
            std::array::from_fn::<u32, 6, _>(|_| twister.within(low, high))
        };
        assert_eq!(draw(1_202_387_523, 1024, 131_072), LARGE);
        assert_eq!(draw(2_929_088_778, 8, 2047), SMALL);
        // For a range of more than half of all numbers, nearly every other number is drawn again.
        assert_eq!(draw(5489, 0, 1 << 31), HALF);
    }

    const LARGE: [u32; 6] = [120_149, 57_115, 94_846, 83_394, 6590, 54_320];
    const SMALL: [u32; 6] = [1067, 108, 845, 2035, 992, 1900];
    const HALF: [u32; 6] = [581_869_302, 545_404_204, 949_333_985, 1_323_567_403, 418_932_835, 1_196_140_740];
}
