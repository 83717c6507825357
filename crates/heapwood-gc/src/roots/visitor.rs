//! The one walk over all roots, which marking and verify mode share. Invariant: until [`LockedRoots`] is dropped no root is
//! removed and no handle changes hands, by threads that are not stopped either.

use super::changed_handles::ChangedHandles;
use super::frames::Frames;
use super::handles::Handles;
use super::other_stacks::OtherStacks;
use super::stacks::ThreadStack;
use super::table::{RootKind, RootTable};
use core::fmt;
use core::ops::Range;
use heapwood_heap::{Collection, Owner};
use heapwood_layout::WORD;
use heapwood_os::LockGuard;
use heapwood_os::timed_lock::TimedGuard;

/// What a run of words that are roots belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Registered slots.
    Slots,
    /// A registered range.
    Range,
    /// The table of handles. What free ones hold is no address.
    Handles,
    /// A frame of a shadow stack.
    Frame,
    /// A thread's stack, or one that it left to come back to.
    Stack,
    /// A cell that a thread may be writing an object into.
    Cell,
}

impl Source {
    /// Whether each word holds null, an address outside the heap, or the address of an object.
    pub(crate) fn is_precise(self) -> bool {
        matches!(self, Source::Slots | Source::Handles | Source::Frame)
    }
}

impl fmt::Display for Source {
    /// One word of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Slots => "the root slot",
            Source::Range => "the word of a root range",
            Source::Handles => "the handle",
            Source::Frame => "the frame slot",
            Source::Stack => "the word of a stack",
            Source::Cell => "the word of an object that is being made",
        })
    }
}

/// What a stopped thread keeps alive.
pub(crate) struct ThreadRoots<'m> {
    pub(crate) frames: &'m Frames,
    /// Its stack, if that is scanned.
    pub(crate) stack: Option<&'m ThreadStack>,
    /// What has cells in hand that it may be writing, if it was stopped between two instructions.
    pub(crate) cells: Option<Owner<'m>>,
}

/// The roots of a heap, under their locks.
pub(crate) struct LockedRoots<'r> {
    table: TimedGuard<'r, RootTable>,
    handles: TimedGuard<'r, Handles>,
    stacks: LockGuard<'r, OtherStacks>,
    changed: &'r ChangedHandles,
}

impl<'r> LockedRoots<'r> {
    pub(super) fn new(
        table: TimedGuard<'r, RootTable>,
        handles: TimedGuard<'r, Handles>,
        stacks: LockGuard<'r, OtherStacks>,
        changed: &'r ChangedHandles,
    ) -> Self {
        LockedRoots { table, handles, stacks, changed }
    }

    /// Calls `f` with each run of words, by its addresses; `threads` are the attached ones, all stopped. For a young
    /// collection handles are left out that have not changed since the last.
    pub(crate) fn for_each<'m>(
        &self,
        of: Collection,
        threads: impl Iterator<Item = ThreadRoots<'m>>,
        mut f: impl FnMut(Source, Range<usize>),
    ) {
        let words = |start: usize, words: usize| start..start + words * WORD;
        self.table.for_each(|kind, start, n| match kind {
            RootKind::Slots => f(Source::Slots, words(start, n)),
            RootKind::Range => f(Source::Range, words(start, n)),
        });
        match of {
            Collection::Full => self.handles.for_each_block(|start, n| f(Source::Handles, words(start, n))),
            Collection::Young => {
                self.changed.for_each_block(|start, n| f(Source::Handles, words(start, n)));
            }
        }
        self.stacks.for_each(|words| f(Source::Stack, words));
        for ThreadRoots { frames, stack, cells } in threads {
            frames.iter().for_each(|frame| f(Source::Frame, words(frame.slots as usize, frame.count)));
            if let Some(stack) = stack {
                stack.for_each(|words| f(Source::Stack, words));
            }
            if let Some(cells) = cells {
                cells.for_each_cell_in_hand(|words| f(Source::Cell, words));
            }
        }
    }
}
