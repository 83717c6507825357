//! What looks at the heap while it stands still: verify mode, the snapshots of pages that were asked for, and faults that tests
//! plant. Invariant: without them this costs two tests a collection.

use super::super::collector::{Collector, Work};
use super::super::plan::PauseKind;
use crate::pause::Pause;

impl Collector {
    pub(in crate::collect) fn verify_before_marking(&self, pause: &Pause<'_>) {
        self.snapshots().before_marking(pause.space());
        if let Some(verify) = self.verify() {
            // Root functions are called, and a function of the program gets reports: neither may use the heap.
            pause.state().marking_threads().while_marking(|| verify.before_marking(pause));
        }
    }

    /// A part of marking, for trace functions are called: the second marking of verify mode, beside a concurrent one.
    pub(in crate::collect) fn verify_concurrent(&self, pause: &Pause<'_>, work: &mut Work, kind: PauseKind) {
        let Some(verify) = self.verify() else { return };
        match kind {
            PauseKind::InitialMark(_) => verify.begin_concurrent(pause),
            PauseKind::FinalMark(_) => work.concurrent.floating = Some(verify.end_concurrent(pause)),
            PauseKind::Full | PauseKind::Young { .. } | PauseKind::Promote => {}
        }
    }

    pub(in crate::collect) fn verify_after_marking(&self, pause: &Pause<'_>, kind: PauseKind) {
        self.snapshots().after_marking(pause.space(), pause.world());
        pause.state().faults().free_survivors(pause.world());
        if let Some(verify) = self.verify() {
            let threads = pause.state().marking_threads();
            threads.while_marking(|| verify.after_marking(pause, kind.collection(), kind.is_exact()));
        }
    }
}
