//! Ephemerons, as a marker comes to them, and the fixed point: the value of one whose key is marked is an edge. One whose key has
//! no mark yet is listed. When nothing else is left to follow, each listed one is looked at once more, and waits for its key
//! in an index from then on (`weak/ephemerons/pending.rs`). The rest is marked in a scope of its own, which looks each newly
//! marked object up in that index. So each object is marked once and each ephemeron taken from the index once: linear, whatever
//! chains and circles there are. V8 tries rounds first and changes to this algorithm when they do not end soon.
//! Invariant: when a fixed point has ended, the key of no waiting ephemeron that is marked and has a value to keep is marked.

use super::bits::MarkBits;
use super::mode::{Limit, Mode, Scope};
use super::queue::Marker;
use crate::inject::Fault;
use crate::state::State;
use crate::weak::ephemerons::{Ephemeron, Ephemerons, List, OfMarking, PendingIndex};
use heapwood_heap::{Collection, ScanKind};

impl<M: Mode> Marker<'_, M> {
    /// Finds the edge of an ephemeron, or lists it.
    pub(super) fn scan_ephemeron(&mut self, address: usize) {
        // SAFETY: an object of this kind is there, and is not freed while a marking goes on.
        let ephemeron = unsafe { Ephemeron::at(address) };
        match self.may_die(ephemeron.key()) && !self.faults.fails(Fault::EphemeronKeyTaken) {
            true => self.undecided().add(ephemeron),
            false => self.push(ephemeron.value()),
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

/// After so many ephemerons a marker beside the program looks whether it is asked for the heap.
const LOOK_EVERY: usize = 128;

/// What a look at the ephemerons of a marking has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looked {
    /// There was none.
    Nothing,
    All,
    /// It was asked to stop.
    Some,
}

impl<'p, S: Scope + 'p, M: Mode<Scope = Pending<'p, S>>> Marker<'_, M> {
    /// Adds the values of those whose keys were marked since.
    fn push_found(&mut self) -> bool {
        let mut any = false;
        while let Some(ephemeron) = self.mode.scope().found.take() {
            self.push(ephemeron.value());
            any = true;
        }
        any
    }

    /// Looks once more at those that are undecided, until it is `asked` to stop.
    fn look(&mut self, ephemerons: &Ephemerons, asked: &dyn Fn() -> bool) -> Looked {
        let of = ephemerons.of(S::SNAPSHOT);
        let (waiting, mut looked) = (List::default(), 0);
        // Those of other markers come first, and each that this one lists is looked at when it has nothing else to do.
        self.undecided().join();
        let found = self.push_found();
        while !(looked % LOOK_EVERY == LOOK_EVERY - 1 && asked()) {
            let Some(ephemeron) = of.next() else { break };
            looked += 1;
            if !self.may_die(ephemeron.key()) {
                self.push(ephemeron.value());
            } else if self.may_add(ephemeron.value()) {
                of.index().add(ephemeron);
            } else {
                waiting.add(ephemeron);
            }
        }
        of.waiting().join(&waiting);
        match (of.are_undecided(), found || looked > 0) {
            (true, _) => Looked::Some,
            (false, true) => Looked::All,
            (false, false) => Looked::Nothing,
        }
    }

    /// Follows what ephemerons hold whose keys are reached, after a marking with the same scope; the rest waits. Returns false if
    /// the time was over before. The marker is the only one.
    pub(super) fn settle(&mut self, ephemerons: &Ephemerons) -> bool {
        while self.look(ephemerons, &|| false) != Looked::Nothing {
            self.drain();
            if self.mode.limit().was_late() {
                return false;
            }
        }
        true
    }

    /// The same beside the program, until it is `asked` to stop; whether nothing is left. What waits for its key stays in the index,
    /// and the marking goes on in this scope.
    pub(super) fn settle_beside(&mut self, state: &State, asked: &dyn Fn() -> bool) -> bool {
        loop {
            let looked = self.look(state.ephemerons(), asked);
            let done = self.mark_all(state.marking_log(), asked);
            // What was found last is on the stack when this ends.
            let found = self.push_found();
            if !done || looked == Looked::Some && asked() {
                return false;
            }
            if looked == Looked::Nothing && !found && !ephemerons_of(state).are_undecided() {
                return true;
            }
        }
    }

    /// Finds those that wait for keys which another scope has marked, in the stop that ends a marking beside the program. The
    /// others stay where they are: there may be millions, and none of them has anything to be followed.
    pub(super) fn look_again(&mut self, ephemerons: &Ephemerons) {
        ephemerons.of(S::SNAPSHOT).index().take_unless(|ephemeron| {
            let waits = self.may_die(ephemeron.key());
            if !waits {
                self.mode.scope().found.add(ephemeron);
            }
            waits
        });
    }
}

fn ephemerons_of(state: &State) -> &OfMarking {
    state.ephemerons().of(true)
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
        Pending { scope, index: ephemerons.of(S::SNAPSHOT).index(), found: List::default() }
    }
}

impl<S: Scope> Scope for Pending<'_, S> {
    const KIND: Collection = S::KIND;
    const SNAPSHOT: bool = S::SNAPSHOT;

    #[inline(always)]
    fn has(&self, object: usize) -> bool {
        self.scope.has(object)
    }

    #[inline(always)]
    fn marked(&self, object: usize) {
        if self.index.may_have(object) {
            self.index.take(object, |ephemeron| self.found.add(ephemeron));
        }
        self.scope.marked(object);
    }
}
