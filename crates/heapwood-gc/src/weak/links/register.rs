//! Links, as a program makes and reads them: a word of its own memory refers to an object without keeping it alive, and is 0 once
//! the object is dead. A hidden one holds the complement of the address, so that a range that is scanned does not keep the
//! object. Reads need the barrier of weak references while a marking goes on beside the program. Invariant: a call that fails
//! changes nothing.

use super::{Link, LinkKind};
use crate::error::{Misuse, Refusal};
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::process::record;
use crate::weak::references::shade_found;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{Address, ScanKind, publication};
use heapwood_layout::WORD;

impl Mutator {
    /// Has the word at `slot` set to 0 when the object is dead: a short link before finalisers may revive the object, a long one
    /// when it is gone. A slot in an object goes with that. Who registers a slot again gives it another object. The word is
    /// written by the program, and holds the address of the object, or its complement.
    ///
    /// # Errors
    /// The slot is not aligned, or lies in an arena; no object of this heap begins at `object`, or it lies in an arena; the table
    /// is full, or there is no memory for an entry; or the mutator cannot be used now ([`Mutator::check`]).
    ///
    /// # Safety
    /// 1. The slot may be written as long as it has a link.
    /// 2. The object is reachable now. It is not freed by the program while it has a link.
    pub unsafe fn add_link(
        &self,
        slot: *mut usize,
        object: NonNull<u8>,
        is_long: bool,
    ) -> Result<(), Refusal> {
        self.check()?;
        let (heap, address) = (self.heap(), object.as_ptr() as usize);
        let slot = checked_slot(heap, slot)?;
        if let Some(arena) = heap.objects().arena_at(address) {
            return Err(Refusal::CannotReferWeaklyInArena { address, arena });
        }
        if !heap.objects().may_begin(address) {
            return Err(Refusal::CannotReferWeakly { address });
        }
        let _no_preempt = self.record().no_preempt();
        let space = heap.space();
        let is_young = !space.is_old(Address::new(address)) || may_be_young(heap, slot);
        let kind = if is_long { LinkKind::Long } else { LinkKind::Short };
        let link = Link { slot, object: address, kind, is_young };
        let added = heap.state().links().add((heap.kernel(), space.reservation_bytes()), link);
        self.owned().announce_entries(heap.state().entry_bytes());
        added
    }

    /// The object that a slot with a link refers to, or `None`: it is dead, or the slot has no link. While a marking goes on beside
    /// the program a plain load is not enough.
    ///
    /// # Errors
    /// The mutator cannot be used now.
    pub fn read_link(&self, slot: *mut usize) -> Result<Option<NonNull<u8>>, Misuse> {
        self.check()?;
        let _no_preempt = self.record().no_preempt();
        let Some(link) = self.heap().state().links().find(slot as usize) else { return Ok(None) };
        publication::observe();
        shade_found(self, link.object, link.object);
        Ok(NonNull::new(link.object as *mut u8))
    }

    /// Moves a link to another slot, which has the word then, and whose own link is replaced.
    ///
    /// # Errors
    /// `from` has no link; `to` is not aligned, or lies in an arena; there is no memory for an entry; or
    /// the mutator cannot be used now.
    ///
    /// # Safety
    /// 1. Both may be read and written, `to` as long as it has a link.
    pub unsafe fn move_link(&self, from: *mut usize, to: *mut usize) -> Result<(), Refusal> {
        self.check()?;
        let (heap, slot) = (self.heap(), checked_slot(self.heap(), to)?);
        // No pause comes before the word has moved, too.
        let _no_preempt = self.record().no_preempt();
        let links = heap.state().links();
        let Some(link) = links.find(from as usize) else {
            return Err(Refusal::NoLink { slot: from as usize });
        };
        if from == to {
            return Ok(());
        }
        let link = Link { slot, is_young: link.is_young || may_be_young(heap, slot), ..link };
        links.add((heap.kernel(), heap.space().reservation_bytes()), link)?;
        links.remove(from as usize);
        // SAFETY: contract 1; both are aligned.
        unsafe {
            let word = AtomicUsize::from_ptr(from).load(Ordering::Relaxed);
            AtomicUsize::from_ptr(to).store(word, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Heap {
    /// Ends a link, on any thread; whether the slot had one. The word stays as it is.
    pub fn remove_link(&self, slot: *mut usize) -> bool {
        let _no_preempt = record().no_preempt();
        self.state().links().remove(slot as usize)
    }

    /// How many slots have links.
    pub fn links(&self) -> usize {
        self.state().links().count()
    }
}

/// The address of a slot that may have a link.
fn checked_slot(heap: &Heap, slot: *mut usize) -> Result<usize, Refusal> {
    let address = slot as usize;
    if address == 0 || !address.is_multiple_of(WORD) {
        return Err(Refusal::NoSlot { slot: address });
    }
    if let Some(arena) = heap.objects().arena_at(address) {
        return Err(Refusal::CannotReferWeaklyInArena { address, arena });
    }
    // In the heap it lies in an object of the program's, with which the link goes.
    let (space, at) = (heap.space(), Address::new(address));
    let is_elsewhere = !space.contains(at)
        || !space.entry_at(at).is(ScanKind::Ephemeron)
            && space
                .find_span(at)
                .and_then(|span| span.cell_in(at))
                .is_some_and(|cell| heap.objects().may_begin(cell.get()));
    if is_elsewhere { Ok(address) } else { Err(Refusal::NoSlot { slot: address }) }
}

/// Whether a slot lies in an object that may be young.
fn may_be_young(heap: &Heap, slot: usize) -> bool {
    let at = Address::new(slot);
    heap.space().contains(at) && heap.space().find_old(at).is_none()
}
