//! The older recursive form of programs, which the document of programs improves on (Go up to 1.4): its interpreter runs through the
//! body of an array once an element, bit by bit. It shares nothing with the decoder, which is compared with it.

/// A type described the older way.
#[derive(Clone, Debug)]
pub(crate) enum Old {
    /// These bits.
    Bits(Vec<bool>),
    /// An element, and how often it comes.
    Array(Box<Old>, u64),
    /// One after the other.
    Seq(Vec<Old>),
}

impl Old {
    /// Writes the bits from `bit` of `out` on, one by one, and returns the bit after the last.
    ///
    /// # Panics
    /// If they do not fit.
    pub(crate) fn decode(&self, out: &mut [u64], mut bit: usize) -> usize {
        match self {
            Old::Bits(bits) => {
                for &set in bits {
                    let word = &mut out[bit / 64];
                    *word = *word & !(1 << (bit % 64)) | u64::from(set) << (bit % 64);
                    bit += 1;
                }
            }
            Old::Array(element, count) => {
                for _ in 0..*count {
                    bit = element.decode(out, bit);
                }
            }
            Old::Seq(parts) => {
                for part in parts {
                    bit = part.decode(out, bit);
                }
            }
        }
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_written_from_any_bit_on() {
        let old = Old::Seq(vec![
            Old::Array(Box::new(Old::Seq(vec![Old::Bits(vec![true, false]), Old::Bits(vec![false])])), 7),
            Old::Bits(vec![true]),
        ]);
        let (mut ones, mut zeros) = ([!0], [0]);
        assert_eq!((old.decode(&mut ones, 5), old.decode(&mut zeros, 5)), (27, 27));
        let expected = (0..8).map(|k| 1 << (5 + 3 * k)).sum::<u64>();
        assert_eq!((zeros[0], ones[0]), (expected, expected | !(((1 << 22) - 1) << 5)));
    }
}
