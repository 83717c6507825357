//! Whether full markings go on beside the program: the words of the option `concurrent`. Invariant: the number of a word is its place in
//! [`Concurrent::WORDS`].

/// Whether full markings go on beside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Concurrent {
    /// Every full marking stops all threads.
    Off = 0,
    /// Full markings go on beside the program where that pays: there are at least two cores, and so much is alive that a stop
    /// would be long. Those of a heap with trace functions do not: such a function may read what the program frees or moves.
    Auto = 1,
    /// They do so whatever the size of the heap, for tests.
    Always = 2,
    /// As `Auto`, with trace functions, too.
    On = 3,
}

impl Concurrent {
    /// The words, as in the variable.
    pub(super) const WORDS: [&'static str; 4] = ["off", "auto", "always", "on"];

    /// The word with a number in the option's range.
    pub(super) fn of_number(number: u64) -> Self {
        [Self::Off, Self::Auto, Self::Always, Self::On][number as usize]
    }

    /// The number of a word.
    pub(crate) fn parse(text: &str) -> Option<u64> {
        Self::WORDS.iter().position(|&word| word == text).map(|number| number as u64)
    }
}
