//! Roots: what keeps objects alive from outside the heap, and the one walk over it.
//!
//! | file | roots |
//! |---|---|
//! | `table` | global slots (precise) and ranges (ambiguous), registered by the client |
//! | `handles` | slots the heap owns and hands out |
//! | `changed_handles` | which of them a young collection looks at |
//! | `frames` | slots that a thread links while it uses them: its shadow stack |
//! | `stacks` | the words of a thread's stacks, which may or may not be pointers |
//! | `other_stacks` | stacks that threads switch to |
//! | `words_in_use` | how much of a stack is in use |
//! | `visitor` | the walk over all of them |
//!
//! Frames and stacks are parts of a mutator; whoever walks brings them. Invariant: nothing outside these files reads a root.

mod changed_handles;
mod frames;
mod handles;
mod other_stacks;
mod stacks;
mod table;
mod visitor;
mod words_in_use;

pub use frames::Frame;
pub(crate) use frames::Frames;
pub use handles::Handle;
pub(crate) use handles::{Handles, MAX_HANDLES};
pub(crate) use other_stacks::OtherStacks;
pub use other_stacks::StackRef;
pub use stacks::StackGiven;
pub(crate) use stacks::ThreadStack;
pub use table::RootToken;
pub(crate) use table::{RootKind, RootTable};
pub(crate) use visitor::{LockedRoots, Source, ThreadRoots};

use crate::error::HandleError;
use crate::inject::{Fault, FaultInjector};
use changed_handles::ChangedHandles;
use heapwood_os::{ForkLock, KernelRef, Lock, OsError, TimedLock};

/// The roots of a heap that are no thread's.
pub(crate) struct Roots {
    table: TimedLock<RootTable>,
    handles: TimedLock<Handles>,
    stacks: Lock<OtherStacks>,
    changed: ChangedHandles,
}

impl Roots {
    /// No roots, and room for so many handles.
    pub(crate) fn new(kernel: KernelRef, handles: usize) -> Result<Self, OsError> {
        let handles = Handles::new(kernel, handles)?;
        Ok(Roots {
            table: TimedLock::new(RootTable::new(kernel)?),
            changed: ChangedHandles::new(kernel, handles.slots())?,
            handles: TimedLock::new(handles),
            stacks: Lock::new(OtherStacks::new(kernel)),
        })
    }

    /// Makes a handle of the object at an address.
    pub(crate) fn new_handle(&self, object: usize, faults: &FaultInjector) -> Result<Handle, HandleError> {
        let handle = self.handles.lock().new_handle(object)?;
        self.note(handle, faults);
        Ok(handle)
    }

    /// The handle, which is held, refers to the object at this address from now on.
    pub(crate) fn set_handle(&self, handle: Handle, object: usize, faults: &FaultInjector) {
        handle.set(object);
        self.note(handle, faults);
    }

    fn note(&self, handle: Handle, faults: &FaultInjector) {
        if !faults.fails(Fault::HandleNotNoted) {
            self.changed.note(handle);
        }
    }

    /// A collection has ended, and has seen what all handles refer to. Mutators are stopped, and the roots locked.
    pub(crate) fn forget_changes(&self) {
        self.changed.forget();
    }

    pub(crate) fn table(&self) -> &TimedLock<RootTable> {
        &self.table
    }

    pub(crate) fn handles(&self) -> &TimedLock<Handles> {
        &self.handles
    }

    /// Stacks that threads switch to.
    pub(crate) fn stacks(&self) -> &Lock<OtherStacks> {
        &self.stacks
    }

    /// Calls `f` with the locks, in the order in which they are taken.
    pub(crate) fn for_each_lock(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        f(&self.table);
        f(&self.handles);
        f(&self.stacks);
    }

    /// All of them as they are now, until the guard is dropped.
    pub(crate) fn lock(&self) -> LockedRoots<'_> {
        LockedRoots::new(self.table.lock(), self.handles.lock(), self.stacks.lock(), &self.changed)
    }
}
