//! Whether full collections mark beside the program: the words of the option `concurrent`. Invariant: the number of a
//! word is its place in [`Concurrent::WORDS`].

/// Whether full collections mark beside the program, between two short stops, or while its threads are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Concurrent {
    /// Threads are stopped while a full collection marks.
    Off = 0,
    /// A full collection that is due marks beside the program where that pays: threads poll, there are at least two
    /// processor cores, and at least [`Concurrent::LEAST_LIVE`] bytes are alive.
    Auto = 1,
    /// A full collection that is due marks beside the program, profitable or not.
    Always = 2,
}

impl Concurrent {
    /// The value of the option if none is given.
    pub const DEFAULT: Self = Self::Off;

    /// The least live bytes with which `auto` marks beside the program. A smaller heap is marked in a few milliseconds,
    /// and the two stops of a marking beside the program cost more than they save.
    pub const LEAST_LIVE: usize = 32 << 20;

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
