//! When a marker beside the program turns away from its edges: somebody asks for the heap, or much that was shaded waits in the
//! log. Invariant: who is asked stays asked until the marker has left what it has, so all markers of a slice leave it.

use crate::state::MarkingLog;

/// Shaded objects that wait in the log until a marker turns to them before its edges: else a long marking would fill the log.
const MANY_SHADED: usize = 1 << 15;

/// Tells a marking beside the program to leave what it has not marked.
pub(crate) type Asked<'a> = dyn Fn() -> bool + Sync + 'a;

/// Whether a marker is to turn away from its edges.
pub(super) fn turns_away<'a>(
    log: &'a MarkingLog,
    asked: &'a Asked<'_>,
) -> impl Fn() -> bool + Sync + use<'a> {
    move || asked() || log.waiting() > MANY_SHADED
}
