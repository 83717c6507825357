//! Words that a type's layout does not name and that hold the address of an object which a collection has freed: most likely a pointer
//! that the layout forgets. It is a hint, for no rule tells such a pointer from a number that happens to be one, or from a pointer that
//! the program does not mean to follow. Where the compiler knows the fields (`#[derive(Trace)]`) nothing is forgotten, and what a type
//! does not initialise may hold anything: so only heaps are looked at whose layouts were written by hand. Words that a trace function
//! skips may be stale at any time. Invariant: each word of a layout is told of once.

use super::slots::for_each_slot_of;
use crate::state::{FreedBy, State};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use heapwood_heap::{Address, GRANULE, ScanKind, Shape, Span};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::report;

/// Hints that are given at most.
const MOST: usize = 32;

/// The hints that were given.
pub(super) struct UnnamedWords {
    /// Of each the number of the shape, and one more than that of the word.
    told: [AtomicU64; MOST],
}

impl UnnamedWords {
    pub(super) const fn new() -> Self {
        UnnamedWords { told: [const { AtomicU64::new(0) }; MOST] }
    }

    /// Looks at an object that has outlived a collection.
    pub(super) fn look(&self, state: &State, (span, shape): (&Span, &Shape), object: usize) {
        use ScanKind::{Bits, Mask, NoPointers, Pair, Program, Slice, WideMask};
        // Of objects without pointers many hold bytes of any kind: those that have a name are somebody's type.
        let counts = match shape.kind() {
            Bits | Mask | Pair | Program | Slice | WideMask => true,
            NoPointers => state.type_name(span, object).is_known(),
            _ => false,
        };
        if !counts {
            return;
        }
        let (end, mut next) = (object + span.object_bytes() / WORD * WORD, object);
        for_each_slot_of(state.space(), shape, object, span.object_bytes(), |slot| {
            self.look_at(state, span, object, next..slot);
            next = slot + WORD;
        });
        self.look_at(state, span, object, next..end);
    }

    fn look_at(&self, state: &State, span: &Span, object: usize, words: core::ops::Range<usize>) {
        for at in words.step_by(WORD) {
            // SAFETY: the word lies in an object of a stopped heap.
            let target = unsafe { (at as *const usize).read() };
            if target.is_multiple_of(GRANULE) && state.space().contains(Address::new(target)) {
                self.look_at_address(state, span, (object, (at - object) / WORD), target);
            }
        }
    }

    #[cold]
    fn look_at_address(&self, state: &State, span: &Span, (object, word): (usize, usize), target: usize) {
        let at = Address::new(target);
        let by = state.quarantine().and_then(|quarantine| quarantine.freed_by(state.space(), at));
        let (Some(FreedBy::Collection(number)), Some(freed)) = (by, state.space().find_span(at)) else {
            return;
        };
        let hint = (span.shape().index() as u64) << 32 | (word as u64 + 1);
        let is_new = |told: &AtomicU64| match told.compare_exchange(0, hint, Relaxed, Relaxed) {
            Ok(_) => Some(true),
            Err(before) => (before == hint).then_some(false),
        };
        if self.told.iter().find_map(is_new) == Some(true) {
            report(format_args!(
                "heapwood: verify: hint: word {word} of the object at {object:#x} ({}{} bytes) is no pointer by its layout, and holds the \
                 address of an object that collection {number} has freed ({}{} bytes): does the layout forget a field? (A pointer that is \
                 to keep nothing alive is stored as its complement.)",
                state.type_name(span, object),
                span.object_bytes(),
                state.type_name(freed, target),
                freed.object_bytes(),
            ));
        }
    }
}
