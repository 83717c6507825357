//! The one walk over all roots, which marking and verify mode share. Invariant: until [`LockedRoots`] is dropped no root is
//! removed and no handle changes hands, by threads that are not stopped either.

use super::changed_handles::ChangedHandles;
use super::frames::Frames;
use super::handles::Handles;
use super::libraries::Libraries;
use super::other_stacks::OtherStacks;
use super::stacks::ThreadStack;
use super::table::{RootKind, RootTable};
use crate::inject::{Fault, FaultInjector};
use core::fmt;
use core::ops::Range;
use core::time::Duration;
use heapwood_heap::{ArenaWords, Collection, Owner};
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
    /// Two words of an arena's header: itself, and a piece.
    ArenaHeader,
    /// Part of an arena's piece, which has bits.
    Arena,
    /// Data of a library, as a copy.
    Library,
}

impl Source {
    /// Whether each word holds null, an address outside the heap, or the address of an object.
    pub(crate) fn is_precise(self) -> bool {
        matches!(self, Source::Slots | Source::Handles | Source::Frame | Source::ArenaHeader)
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
            Source::ArenaHeader => "the word of an arena's header",
            Source::Arena => "the word of an arena",
            Source::Library => "the word of a library's data",
        })
    }
}

/// What a stopped thread keeps alive.
pub(crate) struct ThreadRoots<'m> {
    pub(crate) frames: &'m Frames,
    /// Its stack, if that is scanned.
    pub(crate) stack: Option<&'m ThreadStack>,
    /// Its arenas.
    pub(crate) arenas: Owner<'m>,
    /// What has cells in hand that it may be writing, if it was stopped between two instructions.
    pub(crate) cells: Option<Owner<'m>>,
}

/// The roots of a heap, under their locks.
pub(crate) struct LockedRoots<'r> {
    pub(super) table: TimedGuard<'r, RootTable>,
    pub(super) handles: TimedGuard<'r, Handles>,
    pub(super) stacks: LockGuard<'r, OtherStacks>,
    pub(super) changed: &'r ChangedHandles,
    pub(super) libraries: LockGuard<'r, Option<Libraries>>,
}

impl LockedRoots<'_> {
    /// After threads have stopped: whether it is known which libraries are loaded at this moment. If the loader does not say so in
    /// time, a thread that is stopped may keep it from that: then the threads are to go on, and the libraries to be updated again.
    pub(crate) fn know_libraries(&mut self, at_most: Duration, faults: &FaultInjector) -> bool {
        let Some(libraries) = &mut *self.libraries else { return true };
        let knows = faults.fails(Fault::LibrariesNotUpdated) || libraries.know(at_most);
        if knows {
            libraries.settle(&mut self.table);
        }
        knows
    }

    /// Calls `f` with each run of words, by its addresses; `threads` are the attached ones, all stopped. For a young
    /// collection handles are left out that have not changed since the last. All stay readable until this is dropped, but for
    /// the words of libraries: those are gone when `f` returns, and are few each time.
    pub(crate) fn for_each<'m>(
        &self,
        kind: Collection,
        threads: impl Iterator<Item = ThreadRoots<'m>>,
        mut f: impl FnMut(Source, Range<usize>),
    ) {
        let words = |start: usize, words: usize| start..start + words * WORD;
        self.table.for_each(|kind, start, n| match kind {
            RootKind::Slots => f(Source::Slots, words(start, n)),
            RootKind::Range => f(Source::Range, words(start, n)),
            RootKind::Library => {}
        });
        if let Some(libraries) = &*self.libraries {
            libraries.for_each_chunk(|words| f(Source::Library, words));
        }
        match kind {
            Collection::Full => self.handles.for_each_block(|start, n| f(Source::Handles, words(start, n))),
            Collection::Young => {
                self.changed.for_each_block(|start, n| f(Source::Handles, words(start, n)));
            }
        }
        self.stacks.for_each(|words| f(Source::Stack, words));
        for ThreadRoots { frames, stack, arenas, cells } in threads {
            frames.iter().for_each(|frame| f(Source::Frame, words(frame.slots as usize, frame.count)));
            if let Some(stack) = stack {
                stack.for_each(|words| f(Source::Stack, words));
            }
            arenas.for_each_arena(kind, |words| match words {
                ArenaWords::Roots(words) => f(Source::ArenaHeader, words),
                ArenaWords::Values(words) => f(Source::Arena, words),
            });
            if let Some(cells) = cells {
                cells.for_each_cell_in_hand(|words| f(Source::Cell, words));
            }
        }
    }
}
