//! Ephemerons, as a marker comes to them, and the fixed point: the value of one whose key is marked is an edge. One whose key has
//! no mark yet is listed. When nothing else is left to follow, each listed one is looked at once more, and waits for its key
//! in an index from then on (`state/ephemerons/pending.rs`). The rest is marked in a scope of its own, which looks each newly
//! marked object up in that index. So each object is marked once and each ephemeron taken from the index once: linear, whatever
//! chains and circles there are. V8 tries rounds first and changes to this algorithm when they do not end soon.
//! Invariant: when a fixed point has ended, the key of no waiting ephemeron that is marked and has a value to keep is marked.

use super::bits::MarkBits;
use super::mode::{Limit, Mode, Scope};
use super::queue::Marker;
use crate::inject::Fault;
use crate::state::{Ephemeron, Ephemerons, List, PendingIndex};
use heapwood_heap::{Collection, ScanKind};

impl<M: Mode> Marker<'_, M> {
    /// Finds the edge of an ephemeron, or lists it.
    pub(super) fn scan_ephemeron(&mut self, address: usize) {
        // SAFETY: an object of this kind is there, and is not freed while a marking goes on.
        let ephemeron = unsafe { Ephemeron::at(address) };
        let key = ephemeron.key();
        if self.may_die(key) && !self.faults.fails(Fault::EphemeronKeyTaken) {
            self.undecided().add(ephemeron);
        } else {
            self.push(ephemeron.value());
        }
    }

    /// Whether an address is that of an object without a mark; marks of other markers may be missing, and those that this one
    /// has batched. Addresses outside the heap are no keys that die.
    fn may_die(&self, key: usize) -> bool {
        // SAFETY: the bits below the committed end are committed.
        key.wrapping_sub(self.base) < self.committed_end && !unsafe { M::Bits::is_set(self.marks, key) }
    }

    /// Whether an edge to this address may mark something. In an arena the mark of a value says nothing.
    fn may_add(&self, value: usize) -> bool {
        value.wrapping_sub(self.base) < self.committed_end
            && (self.may_die(value) || self.entry(value).is(ScanKind::Arena))
    }
}

/// Follows what ephemerons hold whose keys are reached, after a marking with the same scope; then lists the rest as waiting.
/// Returns false if the time was over before. The marker is the only one.
pub(super) fn settle<'p, M: Mode<Scope = Pending<'p, S>>, S: Scope + 'p>(
    marker: &mut Marker<'_, M>,
    ephemerons: &Ephemerons,
) -> bool {
    let (of, index) = (ephemerons.of(S::SNAPSHOT), ephemerons.index());
    let (waiting, mut looked) = (List::default(), 0);
    loop {
        // Those of other markers come first, and each that this one lists is looked at when it has nothing else to do.
        marker.undecided().join();
        let (undecided, found) = (of.undecided().take(), marker.mode.scope().found.take_all());
        if undecided.is_empty() && found.is_empty() {
            break;
        }
        while let Some(ephemeron) = found.take() {
            marker.push(ephemeron.value());
        }
        while let Some(ephemeron) = undecided.take() {
            looked += 1;
            if !marker.may_die(ephemeron.key()) {
                marker.push(ephemeron.value());
            } else if marker.may_add(ephemeron.value()) && !marker.faults.fails(Fault::EphemeronForgotten) {
                index.add(ephemeron);
            } else {
                waiting.add(ephemeron);
            }
        }
        marker.drain();
        if marker.mode.limit().was_late() {
            index.take_all(|_| ());
            return false;
        }
    }
    index.take_all(|ephemeron| waiting.add(ephemeron));
    of.waiting().join(&waiting);
    ephemerons.add_looked(looked);
    true
}

/// A scope in which each newly marked object is looked up among the keys that ephemerons wait for.
pub(super) struct Pending<'h, S> {
    scope: S,
    index: &'h PendingIndex,
    /// Those whose keys were marked since the marker looked last.
    found: List,
}

impl<'h, S: Scope> Pending<'h, S> {
    pub(super) fn new(scope: S, ephemerons: &'h Ephemerons) -> Self {
        Pending { scope, index: ephemerons.index(), found: List::default() }
    }
}

impl<S: Scope> Scope for Pending<'_, S> {
    const KIND: Collection = S::KIND;
    const SNAPSHOT: bool = S::SNAPSHOT;

    #[inline(always)]
    fn marked(&self, object: usize) {
        self.scope.marked(object);
        if self.index.may_have(object) {
            self.index.take(object, |ephemeron| self.found.add(ephemeron));
        }
    }
}
