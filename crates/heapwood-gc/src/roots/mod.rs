//! Roots: what keeps objects alive from outside the heap, and the one walk over it.
//!
//! | file | roots |
//! |---|---|
//! | `table` | global slots (precise) and ranges (ambiguous), registered by the client |
//! | `handles` | slots the heap owns and hands out |
//! | `frames` | slots that a thread links while it uses them: its shadow stack |
//! | `stacks` | the words of a thread's stack, which may or may not be pointers |
//! | `visitor` | the walk over all of them |
//!
//! Frames and stacks are parts of a mutator; whoever walks brings them. Invariant: nothing outside these files reads a root.

mod frames;
mod handles;
mod stacks;
mod table;
mod visitor;

pub use frames::Frame;
pub(crate) use frames::Frames;
pub use handles::Handle;
pub(crate) use handles::{Handles, MAX_HANDLES};
pub(crate) use stacks::ThreadStack;
pub use table::RootToken;
pub(crate) use table::{RootKind, RootTable};
pub(crate) use visitor::{LockedRoots, Source, ThreadRoots};

use heapwood_os::{KernelRef, OsError, TimedLock};

/// The roots of a heap that are no thread's.
pub(crate) struct Roots {
    table: TimedLock<RootTable>,
    handles: TimedLock<Handles>,
}

impl Roots {
    /// No roots, and room for so many handles.
    pub(crate) fn new(kernel: KernelRef, handles: usize) -> Result<Self, OsError> {
        Ok(Roots {
            table: TimedLock::new(RootTable::new(kernel)?),
            handles: TimedLock::new(Handles::new(kernel, handles)?),
        })
    }

    pub(crate) fn table(&self) -> &TimedLock<RootTable> {
        &self.table
    }

    pub(crate) fn handles(&self) -> &TimedLock<Handles> {
        &self.handles
    }

    /// All of them as they are now, until the guard is dropped.
    pub(crate) fn lock(&self) -> LockedRoots<'_> {
        LockedRoots::new(self.table.lock(), self.handles.lock())
    }
}
