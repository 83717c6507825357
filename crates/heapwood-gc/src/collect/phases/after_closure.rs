//! Between the end of marking and the swap of the sides: what is reachable is known, and nothing has been forgotten yet. Weak
//! references, ephemerons and finalisers will be resolved here. Invariant: it marks nothing but what it makes reachable
//! again, and all of that.

use super::super::collector::Collector;
use super::super::plan::PauseKind;
use crate::pause::Pause;

impl Collector {
    /// Nothing depends on what is dead so far.
    pub(in crate::collect) fn after_closure(&self, _: &Pause<'_>, _: PauseKind) {}
}
