//! The one walk over all roots, for marking and verify mode. Invariant: until [`LockedRoots`] goes, no thread removes a
//! root or changes the owner of a handle, even a thread that is not stopped.

use super::changed_handles::ChangedHandles;
use super::frames::Frames;
use super::handles::Handles;
use super::libraries::Libraries;
use super::other_stacks::OtherStacks;
use super::readable::Readable;
use super::stacks::ThreadStack;
use super::table::{RootKind, RootTable};
use crate::lock_order::{HANDLES, LIBRARIES, ROOT_TABLE, STACKS};
use core::fmt;
use core::ops::Range;
use heapwood_heap::{ArenaWords, Collection, Owner};
use heapwood_layout::WORD;
use heapwood_os::LockGuard;
use heapwood_os::diagnose::message::corrupt;

/// The kind of a run of root words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Registered slots.
    Slots,
    /// A registered range.
    Range,
    /// The table of handles. The word of a free one is no address.
    Handles,
    /// A frame of a shadow stack.
    Frame,
    /// A thread's stack, or one that a thread has left and will return to.
    Stack,
    /// A cell in which a thread may be initialising an object.
    Cell,
    /// Two words of an arena's header: the header's own object, and a chunk.
    ArenaHeader,
    /// Part of an arena chunk, which has bits.
    Arena,
    /// A copy of a library's data.
    Library,
    /// An object that waits on a queue of finalisers.
    Queue,
    /// An object that the program holds.
    Held,
}

impl Source {
    /// Whether each word holds null, an address outside the heap, or the address of an object.
    pub(crate) fn is_precise(self) -> bool {
        matches!(
            self,
            Source::Slots
                | Source::Handles
                | Source::Frame
                | Source::ArenaHeader
                | Source::Queue
                | Source::Held
        )
    }
}

impl fmt::Display for Source {
    /// Names one word of it.
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
            Source::Queue => "the entry of a finaliser",
            Source::Held => "the held object",
        })
    }
}

/// The roots of a stopped thread.
pub(crate) struct ThreadRoots<'m> {
    pub(crate) frames: &'m Frames,
    /// Its stack, if that is scanned.
    pub(crate) stack: Option<&'m ThreadStack>,
    /// Its arenas.
    pub(crate) arenas: Owner<'m>,
    /// The owner of cells that the thread may be initialising, if it was stopped between two instructions.
    pub(crate) cells: Option<Owner<'m>>,
}

/// The roots of a heap, under their locks.
pub(crate) struct LockedRoots<'r> {
    pub(super) table: LockGuard<'r, RootTable, ROOT_TABLE>,
    pub(super) handles: LockGuard<'r, Handles, HANDLES>,
    pub(super) stacks: LockGuard<'r, OtherStacks, STACKS>,
    pub(super) changed: &'r ChangedHandles,
    pub(super) libraries: LockGuard<'r, Option<Libraries>, LIBRARIES>,
}

impl LockedRoots<'_> {
    /// Whether data of libraries are roots.
    pub(crate) fn has_libraries(&self) -> bool {
        self.libraries.as_ref().is_some_and(|libraries| libraries.are_used(&self.table))
    }

    /// After threads have stopped: selects the libraries that are roots.
    pub(crate) fn select_libraries(&mut self) {
        if let Some(libraries) = &mut *self.libraries {
            libraries.select_roots(&mut self.table);
        }
    }

    /// In verify mode: ends the process if a registered root or a linked frame cannot be read, or a frame's function has returned;
    /// `threads` are the attached ones, all stopped.
    pub(crate) fn check<'m>(&self, threads: impl Iterator<Item = ThreadRoots<'m>>) {
        let mut memory = Readable::default();
        self.table.for_each(|kind, start, words| {
            let end = start.saturating_add(words.saturating_mul(WORD));
            if let Some(at) = memory.first_not(start..end) {
                let what = if kind == RootKind::Slots { "slots" } else { "words" };
                corrupt(format_args!(
                    "the {what} from {start:#x} to {end:#x} are registered as roots, and cannot be read at {at:#x}: memory stays \
                     readable until its root is removed"
                ));
            }
        });
        for ThreadRoots { frames, stack, .. } in threads {
            frames.check(stack.map_or(0..0, ThreadStack::unused), &mut memory);
        }
    }

    /// Calls `f` with the addresses of each run of words; `threads` are the attached ones, all stopped. A young
    /// collection skips handles and frames that have not changed since the last. All words stay readable until this is dropped,
    /// except a library's: a copy is gone when `f` returns, and is short.
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
            frames.for_each(kind, |slots| f(Source::Frame, slots));
            if let Some(stack) = stack {
                stack.for_each(|words| f(Source::Stack, words));
            }
            arenas.for_each_arena(kind, |words| match words {
                ArenaWords::Roots(words) => f(Source::ArenaHeader, words),
                ArenaWords::Values(words) => f(Source::Arena, words),
            });
            if let Some(cells) = cells {
                cells.for_each_cell_at_cursor(|words| f(Source::Cell, words));
            }
        }
    }
}
