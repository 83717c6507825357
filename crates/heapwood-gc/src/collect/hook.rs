//! A hook: a function of the program that is called twice in each pause, when the plan is made and before the mutators go on. A
//! virtual machine clears its caches there, counts, or notes what it has to do afterwards. V8, Guile and libgc have such hooks.
//!
//! Invariants: it is called on the thread that collects, with all mutators stopped, and never on a thread of the heap's own:
//! while one is set the marker posts its pauses to the program's threads (`state/posted_pause.rs`), and an idle heap is
//! not collected. During a call the thread is refused in all heaps, and its allocation buffers in this one are closed, so that
//! inline allocation asks. It sees whole pauses, since setting it takes the collector's turn.

use super::plan::PauseKind;
use core::ffi::c_void;

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CollectionMoment {
    /// Before anything is marked.
    Start = 0,
    /// What is dead is known, and counted; the mutators are about to go on.
    End = 1,
}

/// What a pause does, as a hook is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CollectionKind {
    /// A young collection, or a promotion in its place.
    Young = 0,
    /// A full collection in one stop.
    Full = 1,
    /// A young collection that also starts a full marking beside the program.
    MarkingStart = 2,
    /// The end of that marking: with it the full collection has been.
    MarkingEnd = 3,
}

impl CollectionKind {
    pub(super) fn of(pause: PauseKind) -> Self {
        match pause {
            PauseKind::Young { .. } | PauseKind::Promote => CollectionKind::Young,
            PauseKind::Full => CollectionKind::Full,
            PauseKind::InitialMark(_) => CollectionKind::MarkingStart,
            PauseKind::FinalMark(_) => CollectionKind::MarkingEnd,
        }
    }

    /// Whether a full collection ends with it.
    pub fn is_full(self) -> bool {
        matches!(self, CollectionKind::Full | CollectionKind::MarkingEnd)
    }
}

/// A function of the program that is told of each pause, and its first argument.
#[derive(Clone, Copy, Debug)]
pub struct CollectionHook {
    /// The function.
    pub function: unsafe extern "C" fn(argument: *mut c_void, moment: CollectionMoment, kind: CollectionKind),
    /// Its first argument.
    pub argument: *mut c_void,
}

// SAFETY: whoever sets it lets any thread call it (`Heap::on_collection`).
unsafe impl Send for CollectionHook {}
