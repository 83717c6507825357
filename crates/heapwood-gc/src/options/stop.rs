//! How a collection stops threads: the words of the option `stop`. Invariant: the number of a word is its place in
//! [`Stop::WORDS`].

/// How a collection stops the threads of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stop {
    /// They look now and then whether they are to stop, and allocation does it for them.
    Polls = 0,
    /// By a signal, between any two instructions.
    Signals = 1,
}

impl Stop {
    /// The words, as the variable has them.
    pub(super) const WORDS: [&'static str; 2] = ["polls", "signals"];

    /// Of a number in the option's range.
    pub(super) fn of_number(number: u64) -> Self {
        [Self::Polls, Self::Signals][number as usize]
    }

    /// The number of a word.
    pub(crate) fn parse(text: &str) -> Option<u64> {
        Self::WORDS.iter().position(|&word| word == text).map(|number| number as u64)
    }
}
