//! Whether full markings go on beside the program: the words of the option `concurrent`. Invariant: the words, and their numbers,
//! are those of [`Generational`](super::Generational).

/// Whether full markings go on beside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Concurrent {
    /// Every full marking stops all threads.
    Off = 0,
    /// Full markings go on beside the program where that pays: there are at least two cores, and so much is alive that a stop
    /// would be long.
    Auto = 1,
    /// They do so whatever the size of the heap, for tests.
    Always = 2,
}

impl Concurrent {
    /// The word with a number in the option's range.
    pub(super) fn of_number(number: u64) -> Self {
        [Self::Off, Self::Auto, Self::Always][number as usize]
    }
}
