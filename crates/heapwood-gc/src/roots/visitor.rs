//! The one walk over all roots, which marking and verify mode share. Invariant: until [`LockedRoots`] is dropped no root is
//! removed and no handle changes hands, by threads that are not stopped either.

use super::changed_handles::ChangedHandles;
use super::frames::Frames;
use super::handles::Handles;
use super::libraries::Libraries;
use super::stacks::ThreadStack;
use super::table::{RootKind, RootTable};
use core::fmt;
use core::ops::Range;
use heapwood_heap::Collection;
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
    /// A thread's stack.
    Stack,
    /// Data of a library, as a copy.
    Library,
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
            Source::Library => "the word of a library's data",
        })
    }
}

/// What a stopped thread keeps alive: its frames, and its stack if that is scanned.
pub(crate) type ThreadRoots<'m> = (&'m Frames, Option<&'m ThreadStack>);

/// The roots of a heap, under their locks.
pub(crate) struct LockedRoots<'r> {
    table: TimedGuard<'r, RootTable>,
    handles: TimedGuard<'r, Handles>,
    changed: &'r ChangedHandles,
    libraries: LockGuard<'r, Option<Libraries>>,
}

impl<'r> LockedRoots<'r> {
    pub(super) fn new(
        table: TimedGuard<'r, RootTable>,
        handles: TimedGuard<'r, Handles>,
        changed: &'r ChangedHandles,
        libraries: LockGuard<'r, Option<Libraries>>,
    ) -> Self {
        LockedRoots { table, handles, changed, libraries }
    }

    /// Calls `f` with each run of words, by its addresses; `threads` are the attached ones, all stopped. For a young
    /// collection handles are left out that have not changed since the last. All stay readable until this is dropped, but for
    /// the words of libraries: those are gone when `f` returns, and are few each time.
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
            RootKind::Library => {}
        });
        if let Some(libraries) = &*self.libraries {
            libraries.for_each_chunk(|words| f(Source::Library, words));
        }
        match of {
            Collection::Full => self.handles.for_each_block(|start, n| f(Source::Handles, words(start, n))),
            Collection::Young => {
                self.changed.for_each_block(|start, n| f(Source::Handles, words(start, n)));
            }
        }
        for (frames, stack) in threads {
            frames.iter().for_each(|frame| f(Source::Frame, words(frame.slots as usize, frame.count)));
            if let Some(stack) = stack {
                f(Source::Stack, stack.in_use());
            }
        }
    }
}
