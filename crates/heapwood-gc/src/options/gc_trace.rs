//! What a heap tells of its collections, unasked: the words of the option `trace`. Invariant: at least one word is chosen,
//! and "nothing" beside no other.

use core::ops::BitOr;

/// What a heap says of its collections on standard error: one or both of two, joined by `|`, or nothing.
///
/// ```
/// # use heapwood_gc::{Config, options::GcTrace};
/// let config = Config::default().trace(GcTrace::COLLECTIONS | GcTrace::PHASES);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcTrace(u32);

impl GcTrace {
    /// A line after each collection, in the shape of Go's gctrace.
    pub const COLLECTIONS: GcTrace = GcTrace(1);
    /// How long the phases of all collections took, when the heap ends, or the process if it does not.
    pub const PHASES: GcTrace = GcTrace(2);
    /// Nothing, whatever the variable `HEAPWOOD` says.
    pub const OFF: GcTrace = GcTrace(4);

    /// What stands between the words in the variable and in a flag, where commas end a setting.
    const SEPARATOR: char = '+';

    /// The words as a number, as C has it.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Of a number in the option's range.
    pub(super) fn of_bits(bits: u32) -> Self {
        GcTrace(bits)
    }

    /// Whether all that `other` says is chosen.
    pub const fn has(self, other: GcTrace) -> bool {
        self.0 & other.0 == other.0
    }

    /// The words, as the variable has them.
    pub(super) fn words(bits: u64) -> &'static str {
        match bits {
            1 => "1",
            2 => "phases",
            3 => "1+phases",
            _ => "off",
        }
    }

    /// What `text` says: words separated by `+`.
    ///
    /// # Errors
    /// The first word that is none, or all of them if they do not go together.
    pub(crate) fn parse(text: &str) -> Result<GcTrace, &str> {
        let mut chosen = None;
        for word in text.split(Self::SEPARATOR).map(str::trim_ascii) {
            let said = match word {
                "1" | "on" => Self::COLLECTIONS,
                "phases" => Self::PHASES,
                "0" | "off" => Self::OFF,
                _ => return Err(word),
            };
            chosen = Some(chosen.map_or(said, |chosen: GcTrace| chosen | said));
        }
        chosen.filter(|chosen: &GcTrace| chosen.0 <= Self::OFF.0).ok_or(text)
    }
}

impl BitOr for GcTrace {
    type Output = GcTrace;
    fn bitor(self, other: GcTrace) -> GcTrace {
        GcTrace(self.0 | other.0)
    }
}
