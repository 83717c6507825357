//! The reports of a heap on its collections: the words of the option `trace`. Invariant: at least one word is chosen,
//! and "nothing" only alone.

use core::ops::BitOr;

/// The reports of a heap on its collections, on standard error: some of three, joined by `|`, or nothing.
///
/// ```
/// # use heapwood_gc::{Config, settings::options::GcTrace};
/// let config = Config::default().trace(GcTrace::COLLECTIONS | GcTrace::PHASES);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcTrace(u32);

impl GcTrace {
    /// A line after each collection, in the format of Go's gctrace.
    pub const COLLECTIONS: GcTrace = GcTrace(1);
    /// The total times of the phases, when the heap ends, or the process if the heap does not.
    pub const PHASES: GcTrace = GcTrace(2);
    /// Nothing, whatever the variable `HEAPWOOD` says.
    pub const OFF: GcTrace = GcTrace(4);

    /// Where the memory is before each full collection marks, when the heap is largest.
    pub const MEMORY: GcTrace = GcTrace(8);

    /// Separates the words in the variable and in a flag, where commas end a setting.
    const SEPARATOR: char = '+';

    /// The words as a number, as in C.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The words with a number in the option's range.
    pub(super) fn of_bits(bits: u32) -> Self {
        GcTrace(bits)
    }

    /// Whether the words with this number, which is in the option's range, may stand together.
    pub(super) fn is_one(bits: u64) -> bool {
        bits & u64::from(Self::OFF.0) == 0 || bits == u64::from(Self::OFF.0)
    }

    /// Whether all words of `other` are chosen.
    pub const fn has(self, other: GcTrace) -> bool {
        self.0 & other.0 == other.0
    }

    /// The words, as in the variable.
    pub(super) fn words(bits: u64) -> &'static str {
        match bits {
            1 => "1",
            2 => "phases",
            3 => "1+phases",
            8 => "memory",
            9 => "1+memory",
            10 => "phases+memory",
            11 => "1+phases+memory",
            _ => "off",
        }
    }

    /// Parses words separated by `+`.
    ///
    /// # Errors
    /// The first unknown word, or the whole text if its words exclude each other.
    pub(crate) fn parse(text: &str) -> Result<GcTrace, &str> {
        let mut chosen = None;
        for word in text.split(Self::SEPARATOR).map(str::trim_ascii) {
            let said = match word {
                "1" | "on" => Self::COLLECTIONS,
                "phases" => Self::PHASES,
                "memory" => Self::MEMORY,
                "0" | "off" => Self::OFF,
                _ => return Err(word),
            };
            chosen = Some(chosen.map_or(said, |chosen: GcTrace| chosen | said));
        }
        chosen.filter(|chosen: &GcTrace| Self::is_one(chosen.0.into())).ok_or(text)
    }
}

impl BitOr for GcTrace {
    type Output = GcTrace;
    fn bitor(self, other: GcTrace) -> GcTrace {
        GcTrace(self.0 | other.0)
    }
}
