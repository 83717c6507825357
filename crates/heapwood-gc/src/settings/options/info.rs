//! The description of an option: its range, its default, its help, and its values in words. Invariant: the range holds
//! the default.

use super::words::{Concurrent, GcTrace, Generational, Stop};
use crate::settings::size::Size;
use crate::settings::time::Time;
use core::fmt::{self, Display};
use core::ops::RangeInclusive;
use heapwood_os::threads::signal;

/// The unit of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionUnit {
    /// Bytes; they may be written with a unit, such as 64MiB.
    Bytes,
    /// Nanoseconds; they may be written with a unit, such as 5ms, and without end as off.
    Time,
    /// Hundredths.
    Percent,
    /// Words of 8 bytes.
    Words,
    /// References from one object to another.
    Edges,
    /// Threads.
    Threads,
    /// On or off.
    Switch,
    /// One of the words of [`GcTrace`](super::GcTrace).
    Trace,
    /// One of the words of [`Generational`](super::Generational).
    When,
    /// One of the words of [`Concurrent`](super::Concurrent).
    Beside,
    /// One of the words of [`Stop`](super::Stop).
    Stops,
    /// A signal, by its number or name.
    Signal,
}

impl OptionUnit {
    /// Whether its values are only words.
    pub(crate) fn is_in_words(self) -> bool {
        use OptionUnit::{Beside, Stops, Switch, Trace, When};
        matches!(self, Switch | Trace | When | Beside | Stops)
    }
}

/// The users of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Audience {
    /// The person who runs a program.
    Everyone,
    /// Programs in C, or of another language, whose compilers know the roots precisely.
    InC,
    /// Tests and measurements of this library.
    Tests,
}

impl Audience {
    /// A note for the help; empty if everyone may need the option.
    pub fn note(self) -> &'static str {
        match self {
            Audience::Everyone => "",
            Audience::InC => "of use in C only",
            Audience::Tests => "for tests and measurements of this library",
        }
    }
}

/// One line of the list: an option, its range, its default and its help.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionInfo {
    /// Its name, as a field of [`Config`](super::Config) and a key of the variable `HEAPWOOD`.
    pub name: &'static str,
    /// Its unit.
    pub unit: OptionUnit,
    /// The least value.
    pub least: u64,
    /// The greatest.
    pub most: u64,
    /// The value if none is given; `None`: the heap finds one.
    pub default: Option<u64>,
    /// How the heap finds it then.
    pub unset: &'static str,
    /// Its users.
    pub audience: Audience,
    /// Its help: sentences; the first can stand alone.
    pub help: &'static str,
}

/// Shows the name alone: errors have an option, and a program that unwraps them wants no help text.
impl fmt::Debug for OptionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl OptionInfo {
    /// The values it can have.
    pub fn range(&self) -> RangeInclusive<u64> {
        self.least..=self.most
    }

    /// The range in words: `1 to 100000`, `at least 4 MiB`, `on or off`.
    pub fn range_text(&self) -> impl Display {
        fmt::from_fn(|f| match (self.unit, self.least, self.most) {
            (OptionUnit::Switch, ..) => f.write_str("on (1) or off (0)"),
            (OptionUnit::Trace, ..) => f.write_str("1 or off (2)"),
            (OptionUnit::When, ..) => f.write_str("auto (1), off (0) or always (2)"),
            (OptionUnit::Beside, ..) => f.write_str("auto (1), on (2) or off (0)"),
            (OptionUnit::Time, 0, u64::MAX) => f.write_str("a time, or off"),
            (OptionUnit::Stops, ..) => f.write_str("polls (0) or signals (1)"),
            (_, 0, u64::MAX) => f.write_str("any"),
            (OptionUnit::Signal, least, most) => write!(f, "{least} to {most}, or a name such as SIGUSR1"),
            (_, least, u64::MAX) => write!(f, "at least {}", self.show(least)),
            (_, least, most) => write!(f, "{} to {}", self.show(least), self.show(most)),
        })
    }

    /// The default in words: `150`, `32 MiB`, `on`, or what the heap does without one.
    pub fn default_text(&self) -> impl Display {
        fmt::from_fn(|f| match self.default {
            Some(value) => self.show(value).fmt(f),
            None => f.write_str(self.unset),
        })
    }

    /// A value in words: `150`, `32 MiB`, `on`.
    pub fn show(&self, value: u64) -> impl Display + use<> {
        let unit = self.unit;
        fmt::from_fn(move |f| match (unit, value) {
            (OptionUnit::Bytes, bytes) => Size(bytes).fmt(f),
            (OptionUnit::Switch, 0) => f.write_str("off"),
            (OptionUnit::Switch, 1) => f.write_str("on"),
            (OptionUnit::Trace, n @ 1..=2) => f.write_str(GcTrace::word(n)),
            (OptionUnit::When, n @ 0..=2) => f.write_str(Generational::word(n)),
            (OptionUnit::Time, ns) => Time(ns).fmt(f),
            (OptionUnit::Beside, n @ 0..=2) => f.write_str(Concurrent::word(n)),
            (OptionUnit::Stops, n @ 0..=1) => f.write_str(Stop::word(n)),
            (OptionUnit::Signal, number) => match signal::name(number as i32) {
                Some(name) => f.write_str(name),
                None => number.fmt(f),
            },
            (_, number) => number.fmt(f),
        })
    }

    /// The first sentence of the help, without its full stop.
    pub fn summary(&self) -> &'static str {
        let end = self.help.find(". ").unwrap_or(self.help.len());
        self.help[..end].trim_end_matches('.')
    }
}
