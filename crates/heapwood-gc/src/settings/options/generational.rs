//! Whether a heap has young collections: the words of the option `generational`. Invariant: the number of a word is its
//! place in [`Generational::WORDS`].

/// Whether a heap has young collections, which look only at objects allocated since the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Generational {
    /// Every collection is full.
    Off = 0,
    /// Young collections while they are profitable: while they free more in their time than a full one would.
    Auto = 1,
    /// Young collections, profitable or not.
    Always = 2,
}

impl Generational {
    /// The words, as in the variable.
    pub(super) const WORDS: [&'static str; 3] = ["off", "auto", "always"];

    /// The word with a number in the option's range.
    pub(super) fn of_number(number: u64) -> Self {
        [Self::Off, Self::Auto, Self::Always][number as usize]
    }

    /// The number of a word.
    pub(crate) fn parse(text: &str) -> Option<u64> {
        Self::WORDS.iter().position(|&word| word == text).map(|number| number as u64)
    }
}
