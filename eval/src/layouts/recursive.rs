//! The older recursive form of programs (Go up to 1.4), which the document improves on. Its interpreter runs through
//! the body of an array once for each element, bit by bit. It shares no code with the decoder that it is compared with.

/// A type in the older form.
#[derive(Clone, Debug)]
pub(crate) enum RecursiveForm {
    /// These bits.
    Bits(Vec<bool>),
    /// An element, and its number of repetitions.
    Array(Box<RecursiveForm>, u64),
    /// A sequence.
    Seq(Vec<RecursiveForm>),
}

impl RecursiveForm {
    /// Writes the bits at `bit` of `out`, one by one. Returns the bit after the last.
    ///
    /// # Panics
    /// If they do not fit.
    pub(crate) fn decode(&self, out: &mut [u64], mut bit: usize) -> usize {
        match self {
            RecursiveForm::Bits(bits) => {
                for &set in bits {
                    let word = &mut out[bit / 64];
                    *word = *word & !(1 << (bit % 64)) | u64::from(set) << (bit % 64);
                    bit += 1;
                }
            }
            RecursiveForm::Array(element, count) => {
                for _ in 0..*count {
                    bit = element.decode(out, bit);
                }
            }
            RecursiveForm::Seq(parts) => {
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
        let old = RecursiveForm::Seq(vec![
            RecursiveForm::Array(
                Box::new(RecursiveForm::Seq(vec![
                    RecursiveForm::Bits(vec![true, false]),
                    RecursiveForm::Bits(vec![false]),
                ])),
                7,
            ),
            RecursiveForm::Bits(vec![true]),
        ]);
        let (mut ones, mut zeros) = ([!0], [0]);
        assert_eq!((old.decode(&mut ones, 5), old.decode(&mut zeros, 5)), (27, 27));
        let expected = (0..8).map(|k| 1 << (5 + 3 * k)).sum::<u64>();
        assert_eq!((zeros[0], ones[0]), (expected, expected | !(((1 << 22) - 1) << 5)));
    }
}
