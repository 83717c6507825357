//! The objects of a heap, found by their addresses. Invariant: nothing here needs a mutator; `find` knows the objects of all
//! of them.

use crate::heap::Heap;
#[cfg(doc)]
use crate::mutator::Mutator;
use crate::process::record;
use heapwood_heap::{Address, ArenaHeader, Object, ObjectInfo, ObjectRef, ScanKind, publication};

/// The objects of a heap.
#[derive(Clone, Copy)]
pub struct HeapObjects<'h>(&'h Heap);

impl Heap {
    /// Its objects, found by their addresses.
    #[inline(always)]
    pub fn objects(&self) -> HeapObjects<'_> {
        HeapObjects(self)
    }
}

impl<'h> HeapObjects<'h> {
    /// The object that `addr` points to or into, whichever thread has made it: each that the calling thread can know of, and
    /// none that was freed, or that a collection has found dead. It finds no values in arenas, which have no bits of their
    /// own. It takes a lock of all mutators; [`Mutator::find`] mostly does not.
    pub fn find(self, addr: usize) -> Option<Object> {
        self.find_info(addr).map(|info| Object { base: info.base, bytes: info.bytes })
    }

    /// The same with what the heap knows of the object.
    pub fn find_info(self, addr: usize) -> Option<ObjectInfo> {
        publication::observe();
        let _no_preempt = record().no_preempt();
        self.0.space().find_info(Address::new(addr))
    }

    /// Whether an object may begin at `addr`: a cell or a large object that the program has not freed, or an address in
    /// an arena. Only the allocating thread knows whether a cell has a new object.
    #[inline]
    pub fn may_begin(self, addr: usize) -> bool {
        self.may_begin_outside_arenas(addr)
            || self.0.space().arenas().find(Address::new(addr)).is_some_and(|place| place.is_there)
    }

    /// The same of objects outside arenas.
    pub fn may_begin_outside_arenas(self, addr: usize) -> bool {
        publication::observe();
        let (space, address) = (self.0.space(), Address::new(addr));
        space.contains(address) && !space.entry_at(address).is(ScanKind::Arena) && {
            let cell = space.find_span(address).and_then(|span| span.cell_in(address));
            cell == Some(address) && !space.is_freed(ObjectRef::new(addr))
        }
    }

    /// The arena in which `addr` lies: open, or left to the collector, which has not freed it.
    pub fn arena_at(self, addr: usize) -> Option<u64> {
        publication::observe();
        self.0
            .space()
            .arenas()
            .find(Address::new(addr))
            .filter(|place| place.is_there)
            .map(|place| place.arena)
    }

    /// The arena, open or not, with this handle, as far as its memory tells; the handle may be any number.
    pub fn arena_header(self, handle: usize) -> Option<&'h ArenaHeader> {
        publication::observe();
        // A header is an object of its own, and in verify mode the memory of a closed arena is not readable.
        let is_there = |at: usize| {
            self.0.space().contains(Address::new(at))
                && self.0.space().arenas().find(Address::new(at)).is_none()
        };
        let last = handle.checked_add(ArenaHeader::BYTES - 1)?;
        if !handle.is_multiple_of(align_of::<ArenaHeader>()) || !is_there(handle) || !is_there(last) {
            return None;
        }
        // SAFETY: aligned memory of the heap; any words are those of a header.
        let header = unsafe { &*(handle as *const ArenaHeader) };
        header.is_header().then_some(header)
    }
}
