//! How a collection stops threads: the words of the option `stop`. Invariant: the number of a word is its place in
//! [`Stop::WORDS`].

/// How a collection stops the threads of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stop {
    /// At polls: allocation polls, and a thread that does not allocate calls a poll itself.
    Polls = 0,
    /// By a signal, between any two instructions.
    Signals = 1,
}

impl Stop {
    /// The words, as in the variable.
    pub(super) const WORDS: [&'static str; 2] = ["polls", "signals"];

    /// The word with a number in the option's range.
    pub(super) fn of_number(number: u64) -> Self {
        [Self::Polls, Self::Signals][number as usize]
    }

    /// The number of a word.
    pub(crate) fn parse(text: &str) -> Option<u64> {
        Self::WORDS.iter().position(|&word| word == text).map(|number| number as u64)
    }
}
