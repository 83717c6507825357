//! Between the end of marking and the swap of the sides: what is reachable is known, and nothing has been forgotten yet. Weak
//! references, ephemerons and finalisers will be resolved here. It runs as a part of marking: trace functions may be called, the
//! marker and an active session can mark more, and what they mark is added to the totals.
//! Invariant: it marks nothing but what it makes reachable again, and all of that.

use super::super::collector::{Collector, Work};
use super::super::plan::PauseKind;
use crate::mark::MarkTotals;
use crate::pause::Pause;

impl Collector {
    /// Nothing depends on what is dead so far.
    pub(in crate::collect) fn after_closure(
        &self,
        _: &mut Pause<'_>,
        _: &mut Work,
        _: PauseKind,
        _: &mut MarkTotals,
    ) {
    }
}
