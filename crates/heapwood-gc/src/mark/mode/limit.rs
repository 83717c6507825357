//! Until when a marker marks. Invariant: a limit that has been reached stays reached.

use heapwood_os::clock::monotonic_ns;

/// Until when a marker marks.
pub(in crate::mark) trait Limit {
    /// The marking may end before everything is marked.
    const BOUNDED: bool = false;

    /// Looks at the clock: whether the time is over.
    fn is_late(&mut self) -> bool {
        false
    }

    /// Whether a look at the clock has found so.
    #[inline(always)]
    fn was_late(&self) -> bool {
        false
    }
}

/// Until everything is marked.
pub(in crate::mark) struct Unlimited;

impl Limit for Unlimited {}

/// Until a time, in nanoseconds of the monotonic clock. What is not marked then is left.
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

    fn was_late(&self) -> bool {
        self.late
    }
}
