//! Objects that take plain stores, in a marking beside the program: their slots are copied in the pause that begins it, and the
//! copy of an object is followed once that is marked (`state/plain/snapshot.rs`). Invariant: what is copied are edges of the
//! snapshot, which no pause has followed.

use super::bits::MarkBits;
use super::mode::Mode;
use super::queue::Marker;
use super::shading::{ShadeLog, Shading};
use crate::inject::Fault;
use crate::pause::Pause;
use crate::roots::ScanRoots;
use crate::state::PlainObjects;
use heapwood_heap::ObjectRef;
use heapwood_layout::WORD;

impl ShadeLog for PlainObjects {
    fn note(&self, object: usize) -> bool {
        self.snapshot().add_edge(object)
    }
}

/// Copies the slots of all objects that take plain stores; the marking's other roots were scanned. What there is no room for
/// counts as shaded.
pub(super) fn copy_plain(pause: &Pause<'_>) {
    let (state, plain) = (pause.state(), pause.state().plain());
    plain.snapshot().clear();
    plain.for_each(|begun| {
        if state.faults().fails(Fault::PlainSnapshotLost) {
            return;
        }
        let (object, bytes) = (ObjectRef::new(begun.object), begun.words * WORD);
        pause.add_scanned(bytes);
        plain.snapshot().copy(begun.object, || {
            // SAFETY: it exists, and everything that exists has its allocation bit now.
            unsafe { Shading::of(state, plain).slots_of(object, bytes) };
        });
    });
}

impl<M: Mode> Marker<'_, M> {
    /// Follows the copies of objects that have been marked since; false if there are none.
    pub(super) fn follow_copies(&mut self) -> bool {
        let (plain, mut any, mut before) = (self.plain(), false, usize::MAX);
        while plain.snapshot().waits() {
            let marks = self.marks;
            // SAFETY: an object of the snapshot lies below the committed end, whose bits are committed.
            let is_marked = |object| unsafe { M::Bits::is_set(marks, object) };
            let Some(edges) = plain.snapshot().take_marked(&mut before, is_marked) else { break };
            self.slots(edges);
            any = true;
        }
        any
    }
}
