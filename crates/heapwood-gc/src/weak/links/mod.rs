//! Links: words of the program's own memory, each of which is set to 0 when the object that it refers to is dead, as libgc's
//! disappearing links. A pause clears them before any memory is used again: short ones before finalisers revive anything, long
//! ones afterwards. What is looked at is the entries of the kind: in a young pause only those that were made since the last.
//! Invariant: a slot has one entry at most; an entry is dropped with its object, and with the object in which its slot lies.
//! The lock is held in no-preempt regions only, so a collector may take it in a stop.

mod register;
mod table;

use crate::error::Refusal;
use crate::lock_order::LINKS;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped};
use table::Table;
pub(crate) use table::{Fate, Link, LinkKind, Lists};

/// A heap has room for one entry for each N bytes of its reservation, and for no more than this.
const RESERVATION_BYTES_AN_ENTRY: usize = 1 << 10;
const MOST: usize = 1 << 26;

/// The links of one heap. The table is reserved for the first.
#[derive(Default)]
pub(crate) struct Links {
    table: Lock<Option<Table>, LINKS>,
    is_in_use: AtomicBool,
    count: AtomicUsize,
}

impl Links {
    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.table
    }

    fn change<R>(&self, f: impl FnOnce(&mut Table) -> R) -> Option<R> {
        let mut table = self.table.lock();
        let table = table.as_mut()?;
        let result = f(table);
        self.count.store(table.count(), Ordering::Relaxed);
        Some(result)
    }

    /// Adds an entry for a slot, or gives the slot's entry another object.
    pub(crate) fn add(&self, (kernel, reservation): (KernelRef, usize), link: Link) -> Result<(), Refusal> {
        {
            let mut table = self.table.lock();
            if table.is_none() {
                let most = (reservation / RESERVATION_BYTES_AN_ENTRY).min(MOST);
                *table = Some(Table::new(kernel, most)?);
                self.is_in_use.store(true, Ordering::Relaxed);
            }
        }
        self.change(|table| table.add(link)).unwrap_or_else(|| unreachable!("there is a table"))
    }

    /// Removes the entry of a slot; whether there was one.
    pub(crate) fn remove(&self, slot: usize) -> bool {
        self.change(|table| table.remove(slot)).unwrap_or(false)
    }

    /// The entry of a slot.
    pub(crate) fn find(&self, slot: usize) -> Option<Link> {
        self.change(|table| table.find(slot)).flatten()
    }

    /// A slot of an entry whose object begins there, or that lies there itself. It looks at all.
    pub(crate) fn slot_of(&self, object: Range<usize>) -> Option<usize> {
        if self.count() == 0 {
            return None;
        }
        self.change(|table| table.slot_of(object)).flatten()
    }

    /// How many slots have one.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Asks for the fate of each entry of a kind on these lists, and drops those that do not stay; how many were looked at, and
    /// cleared.
    pub(crate) fn settle(
        &self,
        kind: LinkKind,
        lists: Lists,
        fate: impl FnMut(Link) -> Fate,
    ) -> (usize, usize) {
        if !self.is_in_use.load(Ordering::Relaxed) {
            return (0, 0);
        }
        self.change(|table| table.settle(kind, lists, fate)).unwrap_or_default()
    }

    /// The same for those that wait, which are on no list.
    pub(crate) fn settle_waiting(&self, fate: impl FnMut(Link) -> Fate) -> usize {
        if !self.is_in_use.load(Ordering::Relaxed) {
            return 0;
        }
        self.change(|table| table.settle_waiting(fate).0).unwrap_or_default()
    }
}

impl Mapped for Links {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        if let Some(table) = self.table.lock().as_ref() {
            table.for_each_mapping(f);
        }
    }
}
