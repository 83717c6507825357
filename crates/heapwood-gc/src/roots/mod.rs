//! Roots: the words outside the heap that keep objects alive, and the one walk over them.
//!
//! | file | contents |
//! |---|---|
//! | `table` | global slots (precise) and ranges (ambiguous), registered by the client |
//! | `intervals` | ranges of ambiguous words of which parts are added and removed |
//! | `heap_roots` | the roots as a program adds and removes them |
//! | `handles` | slots that the heap owns and hands out |
//! | `changed_handles` | the handles that a young collection scans |
//! | `frames` | slots that a thread links while it uses them: its shadow stack |
//! | `stacks` | a thread's stacks, whose words may or may not be pointers |
//! | `other_stacks` | stacks that threads switch to |
//! | `moving_bottom` | a stack of which a client says only where it ends |
//! | `words_in_use` | the part of a stack that is in use |
//! | `libraries` | data of libraries, which come and go |
//! | `excluded` | parts of those data that are no roots |
//! | `library_list` | the loaded libraries |
//! | `visitor` | the walk over all roots |
//! | `readable` | memory that verify mode asks about before it is read |
//! | `scan_roots` | the interface of their receiver, a marker |
//! | `client` | a client's part in each collection: roots of its own |
//!
//! Frames and stacks are parts of a mutator; the caller of the walk passes them. Invariant: nothing outside these files
//! reads a root.

mod changed_handles;
mod client;
mod excluded;
mod frames;
mod handles;
pub(crate) mod heap_roots;
mod held;
mod intervals;
mod libraries;
mod library_list;
mod moving_bottom;
mod other_stacks;
mod readable;
mod scan_roots;
mod stacks;
mod table;
mod visitor;
mod words_in_use;

pub use client::{ClientRoots, CollectionPhases};
pub use frames::{Frame, Frames};
pub use handles::Handle;
pub(crate) use handles::{Handles, MAX_HANDLES};
pub(crate) use other_stacks::OtherStacks;
pub use other_stacks::StackRef;
pub(crate) use scan_roots::ScanRoots;
pub use stacks::StackGiven;
pub(crate) use stacks::ThreadStack;
pub(crate) use table::RootTable;
pub use table::RootToken;
pub(crate) use visitor::{LockedRoots, Source, ThreadRoots};

use crate::lock_order::{HANDLES, LIBRARIES, ROOT_TABLE, STACKS};
use changed_handles::ChangedHandles;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, OsError};
use libraries::Libraries;

/// The roots of a heap that belong to no thread.
pub(crate) struct Roots {
    table: Lock<RootTable, ROOT_TABLE>,
    handles: Lock<Handles, HANDLES>,
    stacks: Lock<OtherStacks, STACKS>,
    changed: ChangedHandles,
    /// Libraries whose data are roots; none before the first.
    libraries: Lock<Option<Libraries>, LIBRARIES>,
    has_libraries: AtomicBool,
}

impl Roots {
    /// No roots, and room for N handles.
    pub(crate) fn new(kernel: KernelRef, handles: usize) -> Result<Self, OsError> {
        let handles = Handles::new(kernel, handles)?;
        Ok(Roots {
            table: Lock::new(RootTable::new(kernel)?),
            changed: ChangedHandles::new(kernel, handles.slots())?,
            handles: Lock::new(handles),
            stacks: Lock::new(OtherStacks::new(kernel)),
            libraries: Lock::new(None),
            has_libraries: AtomicBool::new(false),
        })
    }

    /// Forgets changes of handles: a collection has ended, and has scanned all that changed. Mutators are stopped, and
    /// the roots locked.
    pub(crate) fn forget_changes(&self) {
        self.changed.forget();
    }

    /// Makes data of libraries roots: of `all` libraries, or of those that are named.
    pub(crate) fn use_libraries(&self, kernel: KernelRef, all: bool) -> Result<(), OsError> {
        if !self.has_libraries.load(Ordering::Acquire) {
            let mut libraries = self.libraries.lock();
            if libraries.is_none() {
                *libraries = Some(Libraries::new(kernel, all)?);
            }
            self.has_libraries.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Whether data of libraries are roots.
    pub(crate) fn has_libraries(&self) -> bool {
        self.has_libraries.load(Ordering::Acquire)
            && self.libraries.lock().as_ref().is_some_and(|libraries| libraries.are_used(&self.table.lock()))
    }

    /// Learns which libraries are loaded. The caller has the loader's lock until threads have stopped.
    pub(crate) fn look_at_libraries(&self) {
        if let Some(libraries) = &mut *self.libraries.lock() {
            libraries.look();
        }
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn handles(&self) -> &Lock<Handles, HANDLES> {
        &self.handles
    }

    /// Stacks that threads switch to.
    pub(crate) fn stacks(&self) -> &Lock<OtherStacks, STACKS> {
        &self.stacks
    }

    /// Calls `f` with the locks, in lock order.
    pub(crate) fn for_each_lock(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        f(&self.libraries);
        f(&self.table);
        f(&self.handles);
        f(&self.stacks);
    }

    /// Locks all roots until the guard goes.
    pub(crate) fn lock(&self) -> LockedRoots<'_> {
        let libraries = self.libraries.lock();
        LockedRoots {
            libraries,
            table: self.table.lock(),
            handles: self.handles.lock(),
            stacks: self.stacks.lock(),
            changed: &self.changed,
        }
    }
}

impl Mapped for Roots {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.libraries.lock().for_each_mapping(f);
        self.table.lock().for_each_mapping(f);
        self.handles.lock().for_each_mapping(f);
        self.stacks.lock().for_each_mapping(f);
        self.changed.for_each_mapping(f);
    }
}
