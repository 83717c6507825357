//! For tests: a concurrent full marking that a mutator's thread drives in increments, and the collection of an idle heap without
//! ten seconds of quiet. Invariant: the marking is active between its beginning and its end, as if the heap's own threads marked.

use crate::error::Misuse;
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::state::ShadeCounts;

/// The incremental marking of a mutator's heap.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct IncrementalMarking<'m>(&'m Mutator);

impl Mutator {
    /// The incremental marking of its heap.
    #[doc(hidden)]
    pub fn incremental_marking(&self) -> IncrementalMarking<'_> {
        IncrementalMarking(self)
    }
}

impl Heap {
    /// Does what the heap's own thread does when the heap is idle. Called on a thread without a running mutator; whether it has
    /// collected, or asked the marker to.
    #[doc(hidden)]
    pub fn collect_as_if_idle(&self) -> bool {
        self.collector().collect_idle(self.state(), || self.has_marker())
    }
}

impl IncrementalMarking<'_> {
    /// Begins a concurrent full marking that this thread drives; false if one is active already, or the kernel gives no
    /// memory for it. A young collection comes with it. A request for a full collection meanwhile ends it first.
    ///
    /// # Errors
    /// As for [`Mutator::collect`], also in the two functions below.
    pub fn begin(self) -> Result<bool, Misuse> {
        let heap = self.0.heap();
        heap.collector().start_marking(heap.state(), self.0)
    }

    /// Asks the heap's marker thread for a full marking beside the program, which begins soon; false if the heap marks in
    /// stops.
    pub fn ask_marker(self) -> bool {
        self.0.heap().ask_marker()
    }

    /// Follows N edges of the marking, or scans N slices of objects; false if nothing is left now.
    pub fn step(self, edges: usize) -> Result<bool, Misuse> {
        let heap = self.0.heap();
        heap.collector().step_marking(heap.state(), self.0, edges)
    }

    /// Marks everything that is left, and ends the marking like a full collection; false if none is active.
    pub fn finish(self) -> Result<bool, Misuse> {
        let heap = self.0.heap();
        heap.collector().finish_marking(heap.state(), self.0)
    }

    /// What barriers have shaded for the marking that is active, or that was the last.
    pub fn counts(self) -> ShadeCounts {
        self.0.shared().marking_log().counts()
    }
}
