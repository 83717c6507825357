//! Shades all that an object refers to, for an active marking: the program is about to zero the object, or to free it when the
//! marking's log has no room for it. Invariant: afterwards the marking need not visit the object.

use crate::mark::Shading;
use crate::mutator::Mutator;
use crate::observe::{for_each_slot, shape_of};
use heapwood_heap::{ObjectRef, ScanKind};
use heapwood_layout::WORD;

impl Mutator {
    /// Shades all objects that an old object refers to. A trace function is the program's: this is not called in a no-preempt
    /// region.
    pub(crate) fn shade_all(&self, object: ObjectRef) {
        let (state, space) = (self.shared(), self.shared().space());
        let (Some(span), Some(shape)) = (space.find_span(object.into()), shape_of(space, object.get()))
        else {
            return;
        };
        let (bytes, mut shading) = (span.object_bytes(), Shading::of(state, self));
        // SAFETY: the words lie in the object, which exists.
        let word = |slot: usize| unsafe { (slot as *const usize).read() };
        match (shape.kind(), shape.trace()) {
            // SAFETY: the object exists, and its shape has this function.
            (ScanKind::Trace, Some(trace)) => unsafe {
                shading.all_of(object, bytes / WORD * WORD, trace);
            },
            (ScanKind::Conservative | ScanKind::AmbiguousMask | ScanKind::AmbiguousPrefix, _) => {
                let words = (0..bytes / WORD).filter(|&i| shape.is_ambiguous(i));
                words.for_each(|i| shading.word(word(object.get() + i * WORD)));
            }
            _ => for_each_slot(space, object.get(), bytes, |slot| shading.object(word(slot))),
        }
    }
}
