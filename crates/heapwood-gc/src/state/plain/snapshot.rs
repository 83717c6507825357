//! What objects that take plain stores held when a marking beside the program began. Nobody tells that marking what such stores
//! overwrite, so the pause that takes its snapshot copies the edges of these objects; the marker follows the copy of an
//! object once that is marked. So a stack that died with its fiber keeps nothing alive, not even by a path to itself, as the same
//! slots taken for roots would: then a fiber on its own stack would live for good. A copy is as the value of an ephemeron, whose key
//! is the object. Invariant: when the marking ends, the edges of each copy whose object is marked have been followed. Used by one
//! thread at a time: in a pause, or by the marker alone.

use super::table::MOST_PLAIN;
use crate::lock_order::PLAIN_SNAPSHOT;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_layout::WORD;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, MappedArray, OsError, for_each_mapping_of};

/// The most edges; the objects of more are kept as if they had been shaded.
const MOST_EDGES: usize = 1 << 22;
/// Edges are committed in steps of so many.
const STEP: usize = 1 << 12;

/// The copy of an object.
#[derive(Clone, Copy)]
#[repr(C)]
struct Copied {
    object: usize,
    /// Its edges, by their numbers.
    first: usize,
    end: usize,
}

// SAFETY: all-zero bytes are numbers.
unsafe impl Zeroed for Copied {}

struct Table {
    copies: MappedArray<Copied>,
    edges: MappedArray<usize>,
    /// Copies that have not been followed.
    used: usize,
    edges_used: usize,
    edges_committed: usize,
}

impl Table {
    fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let copies = MappedArray::new(kernel, MOST_PLAIN)?;
        copies.commit(0..MOST_PLAIN)?;
        let edges = MappedArray::new(kernel, MOST_EDGES)?;
        Ok(Table { copies, edges, used: 0, edges_used: 0, edges_committed: 0 })
    }

    /// Adds an edge; false if there is no room for it.
    fn add_edge(&mut self, target: usize) -> bool {
        if self.edges_used == self.edges_committed {
            let end = (self.edges_committed + STEP).min(self.edges.len());
            if end == self.edges_committed || self.edges.commit(self.edges_committed..end).is_err() {
                return false;
            }
            self.edges_committed = end;
        }
        // SAFETY: the edge is committed, and the borrow is exclusive.
        unsafe { self.edges.at(self.edges_used).write(target) };
        self.edges_used += 1;
        true
    }

    fn add_copy(&mut self, object: usize, first: usize) {
        let end = self.edges_used;
        if first < end {
            // SAFETY: there are as many places as objects that take plain stores, and the borrow is exclusive.
            unsafe { self.copies.at(self.used).write(Copied { object, first, end }) };
            self.used += 1;
        }
    }
}

/// The copies of one marking.
#[derive(Default)]
pub(crate) struct PlainSnapshot {
    table: Lock<Option<Table>, PLAIN_SNAPSHOT>,
    /// Copies that have not been followed.
    waiting: AtomicUsize,
}

impl PlainSnapshot {
    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.table
    }

    /// Makes room before the first object takes plain stores.
    pub(super) fn prepare(&self, kernel: KernelRef) -> Result<(), OsError> {
        let mut table = self.table.lock();
        if table.is_none() {
            *table = Some(Table::new(kernel)?);
        }
        Ok(())
    }

    fn change<R>(&self, f: impl FnOnce(&mut Table) -> R) -> Option<R> {
        let mut table = self.table.lock();
        let table = table.as_mut()?;
        let result = f(table);
        self.waiting.store(table.used, Ordering::Relaxed);
        Some(result)
    }

    /// Whether an object's copy has not been followed.
    #[inline(always)]
    pub(crate) fn waits(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0
    }

    /// Forgets all copies.
    pub(crate) fn clear(&self) {
        self.change(|table| {
            (table.used, table.edges_used) = (0, 0);
            if table.edges_committed > STEP {
                // SAFETY: nobody reads the edges.
                let decommitted = unsafe { table.edges.decommit(STEP..table.edges_committed) };
                // If the kernel refuses they stay.
                if decommitted.is_ok() {
                    table.edges_committed = STEP;
                }
            }
        });
    }

    /// Adds an edge of the object whose copy is being made; false if there is no room for it.
    pub(crate) fn add_edge(&self, target: usize) -> bool {
        self.change(|table| table.add_edge(target)).unwrap_or(false)
    }

    /// Copies an object, whose edges `edges` adds.
    pub(crate) fn copy(&self, object: usize, edges: impl FnOnce()) {
        let first = self.change(|table| table.edges_used);
        edges();
        self.change(|table| table.add_copy(object, first.unwrap_or(0)));
    }

    /// Takes a copy whose object `is_marked`, among those before `before`, which moves to where to go on. The addresses of the words
    /// that hold its edges, until the marking ends.
    pub(crate) fn take_marked(
        &self,
        before: &mut usize,
        is_marked: impl Fn(usize) -> bool,
    ) -> Option<Range<usize>> {
        self.change(|table| {
            for number in (0..table.used.min(*before)).rev() {
                // SAFETY: it was written, and the borrow is exclusive.
                let copied = unsafe { table.copies.at(number).read() };
                if is_marked(copied.object) {
                    table.used -= 1;
                    *before = number;
                    // SAFETY: as above.
                    unsafe { table.copies.at(number).write(table.copies.at(table.used).read()) };
                    let start = table.edges.at(copied.first) as usize;
                    return Some(start..start + (copied.end - copied.first) * WORD);
                }
            }
            None
        })
        .flatten()
    }
}

impl Mapped for PlainSnapshot {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        if let Some(table) = self.table.lock().as_ref() {
            for_each_mapping_of(&[&table.copies, &table.edges], f);
        }
    }
}
