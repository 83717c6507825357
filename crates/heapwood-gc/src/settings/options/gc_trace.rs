//! Whether a heap reports its collections: the words of the option `trace`. Invariant: the number of a word is its place in
//! [`GcTrace::WORDS`], plus one.

/// Whether a heap reports its collections on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum GcTrace {
    /// A line after each collection, in the format of Go's gctrace.
    On = 1,
    /// Nothing, whatever the variable `HEAPWOOD` says.
    Off = 2,
}

impl GcTrace {
    /// The words, as in the variable.
    pub(super) const WORDS: [&'static str; 2] = ["1", "off"];

    /// The word with a number in the option's range.
    pub(super) fn of_number(number: u64) -> Self {
        if number == Self::On as u64 { Self::On } else { Self::Off }
    }

    /// The number of a word.
    pub(crate) fn parse(text: &str) -> Option<u64> {
        match text {
            "1" | "on" => Some(Self::On as u64),
            "0" | "off" => Some(Self::Off as u64),
            _ => None,
        }
    }
}
