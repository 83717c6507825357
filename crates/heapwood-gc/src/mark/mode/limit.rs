//! The time limit of a marking, and when a marker beside the program turns away from its edges: somebody asks for the heap, or much that
//! was shaded waits in the log. Invariant: a limit that was reached stays reached; who is asked stays asked until the marker has left
//! what it has, so all markers of a slice leave it.

use crate::state::MarkingLog;
use heapwood_os::process::clock::monotonic_ns;

/// The time limit of a marking.
pub(in crate::mark) trait Limit {
    /// The marking may end before everything is marked.
    const BOUNDED: bool = false;
    /// What is left then waits on the stacks, and the marking goes on later.
    const GOES_ON: bool = false;

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

/// Until somebody asks: the marking goes on later, from what it has left on its stacks.
pub(in crate::mark) struct UntilAsked<'a>(pub(in crate::mark) &'a dyn Fn() -> bool);

impl Limit for UntilAsked<'_> {
    const BOUNDED: bool = true;
    const GOES_ON: bool = true;

    fn is_late(&mut self) -> bool {
        (self.0)()
    }

    fn was_late(&self) -> bool {
        (self.0)()
    }
}

/// A deadline in nanoseconds of the monotonic clock. The marker leaves what it has not marked by then.
pub(in crate::mark) struct Deadline {
    at: u64,
    late: bool,
}

impl Deadline {
    pub(in crate::mark) fn at(at: u64) -> Self {
        Deadline { at, late: false }
    }

    /// The time.
    pub(in crate::mark) fn time(&self) -> u64 {
        self.at
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

/// Shaded objects that wait in the log until a marker turns to them before its edges: else a long marking would fill the log.
const MANY_SHADED: usize = 1 << 15;

/// Tells a marking beside the program to leave what it has not marked.
pub(crate) type Asked<'a> = dyn Fn() -> bool + Sync + 'a;

/// Whether a marker is to turn away from its edges.
pub(in crate::mark) fn turns_away<'a>(
    log: &'a MarkingLog,
    asked: &'a Asked<'_>,
) -> impl Fn() -> bool + Sync + use<'a> {
    move || asked() || log.waiting() > MANY_SHADED
}
