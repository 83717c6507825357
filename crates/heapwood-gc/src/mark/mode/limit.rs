//! The time limit of a marking. Invariant: a limit that was reached stays reached.

use heapwood_os::process::clock::monotonic_ns;

/// The time limit of a marking.
pub(in crate::mark) trait Limit {
    /// The marking may end before everything is marked.
    const BOUNDED: bool = false;

    /// Reads the clock; true if the time is over.
    fn is_late(&mut self) -> bool {
        false
    }

    /// Adds N nanoseconds that do not count; a limit that was reached stays reached.
    fn extend(&mut self, _: u64) {}

    /// True if an earlier reading of the clock found the time over.
    #[inline(always)]
    fn was_late(&self) -> bool {
        false
    }
}

/// No limit: the marking ends when everything is marked.
pub(in crate::mark) struct Unlimited;

impl Limit for Unlimited {}

/// A deadline in nanoseconds of the monotonic clock. The marker leaves what it has not marked by then.
pub(in crate::mark) struct Deadline {
    at: u64,
    late: bool,
}

impl Deadline {
    pub(in crate::mark) fn at(at: u64) -> Self {
        Deadline { at, late: false }
    }
}

impl Limit for Deadline {
    const BOUNDED: bool = true;

    fn is_late(&mut self) -> bool {
        self.late |= monotonic_ns() > self.at;
        self.late
    }

    fn extend(&mut self, ns: u64) {
        self.at = self.at.saturating_add(ns);
    }

    fn was_late(&self) -> bool {
        self.late
    }
}
