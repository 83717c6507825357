//! External values: values of arenas that live in the heap, because they are long or no mask describes their pointers. A
//! cell of the arena holds the address of each and keeps it alive. When the arena ends, its external values are freed if
//! nothing can refer to them any more. Otherwise they are zeroed, and the collector frees them: a stale pointer then keeps
//! one value alive, and nothing that the value referred to.
//! Invariant: an external value refers to nothing once its arena has ended, unless the arena was left to the collector, or
//! its end promised that nothing refers to the value.

use super::entry::MutatorArenas;
use crate::error::AllocError;
use core::ptr::NonNull;
use heapwood_heap::{Address, ArenaHeader, ArenaKind, ArenaLayout, ObjectRef, PageEntry, ScanKind};
use heapwood_layout::WORD;

/// The key of the layout of cells that hold addresses of external values; no other layout has this key.
const EXTERNAL: usize = 1;
const EXTERNAL_LAYOUT: ArenaLayout = match ArenaLayout::new(2 * WORD, [0b11, 0, 0, 0]) {
    Some(layout) => layout,
    None => unreachable!(),
};

/// Words that one no-preempt region zeroes: a signal waits no longer than that.
const STEP: usize = (64 << 10) / WORD;
/// Words of a block. A block of zeros is not written, so the parts of a long value that were never written get no memory.
const BLOCK: usize = (4 << 10) / WORD;

impl MutatorArenas<'_> {
    /// An external value of an arena, which `allocate` makes in the heap. May collect.
    ///
    /// # Errors
    /// As [`reserve`](MutatorArenas::reserve), or `allocate`'s.
    ///
    /// # Safety
    /// 1. As there.
    pub unsafe fn allocate_external(
        self,
        arena: &ArenaHeader,
        allocate: impl FnOnce() -> Result<NonNull<u8>, AllocError>,
    ) -> Result<NonNull<u8>, AllocError> {
        // Its cell first: then nothing collects between the value and the cell that keeps it.
        // SAFETY: contract 1.
        unsafe { self.reserve(arena, (EXTERNAL, EXTERNAL_LAYOUT), 1) }?;
        let object = allocate()?;
        let _no_preempt = self.0.record().no_preempt();
        let owner = self.0.owned();
        // SAFETY: as above. There was room for the cell, and nobody has taken it.
        let cell = unsafe { owner.reserve_in_arena(arena, (EXTERNAL, EXTERNAL_LAYOUT), 1) }
            .unwrap_or_else(|_| unreachable!("there was room"));
        // SAFETY: the cell is this arena's, and of two words.
        unsafe { (cell as *mut [usize; 2]).write([object.as_ptr() as usize, owner.external_of(arena)]) };
        arena.commit(cell, EXTERNAL_LAYOUT.bytes());
        owner.set_external_of(arena, cell);
        Ok(object)
    }

    /// Frees the external values of a borrowed arena: nothing can refer to them any more. During a concurrent marking, which
    /// may have to visit the arena, the collector frees them.
    ///
    /// # Safety
    /// 1. As for [`empty`](MutatorArenas::empty).
    /// 2. The thread is in a no-preempt region until the arena's own values are gone, too. These may refer to freed
    ///    values, and so may external values that are not freed yet; a collection between the two would find such
    ///    references.
    pub(crate) unsafe fn free_external(self, arena: &ArenaHeader) {
        if arena.kind() != ArenaKind::Borrowed || self.0.barrier().is_concurrent_marking() {
            return;
        }
        self.for_each_external(arena, |cell, object| {
            // The cell is a slot that must not refer to what is freed.
            // SAFETY: cells lie in the arena, which is open.
            unsafe { (cell as *mut usize).write(0) };
            if let Some(object) = NonNull::new(object as *mut u8) {
                // SAFETY: contract 1: nothing refers to it.
                let _ = unsafe { self.0.free(object) };
            }
        });
        self.0.owned().set_external_of(arena, 0);
    }

    /// Zeroes the external values of an escaping arena, because pointers to them may be left. A collection before the arena's
    /// end finds values that refer to less.
    ///
    /// # Safety
    /// 1. As for [`empty`](MutatorArenas::empty).
    pub(crate) unsafe fn empty_external(self, arena: &ArenaHeader) {
        if arena.kind() != ArenaKind::Escaping {
            return;
        }
        self.for_each_external(arena, |_, object| {
            let Some((bytes, entry)) = self.prepare_to_zero(Address::new(object)) else { return };
            if entry.is(ScanKind::NoPointers) {
                return;
            }
            for from in (0..bytes / WORD).step_by(STEP) {
                let _no_preempt = self.0.record().no_preempt();
                let words = STEP.min(bytes / WORD - from);
                // SAFETY: contract 1: nobody uses the value, which its cell keeps.
                zero_words(unsafe {
                    core::slice::from_raw_parts_mut((object as *mut usize).add(from), words)
                });
            }
        });
    }

    /// Prepares an external value to be zeroed. Returns its bytes and its scan; `None` if the program has freed it itself. An
    /// active marking still finds the objects that it refers to, and verify mode takes the zeros for stores.
    fn prepare_to_zero(self, object: Address) -> Option<(usize, PageEntry)> {
        let (space, at) = (self.0.shared().space(), ObjectRef::new(object.get()));
        let span = space.find_span(object)?;
        if span.cell_in(object) != Some(object) || space.is_freed(at) {
            return None;
        }
        let (bytes, mut entry) = (span.object_bytes(), space.entry_at(object));
        if entry.is(ScanKind::Numbered) {
            // SAFETY: the object is one of such a span.
            entry = unsafe { space.numbered_entry(at) };
        }
        // The marking does not visit objects made since it began.
        if self.0.barrier().is_concurrent_marking() && space.is_old(object) {
            self.0.shade_all(at);
        }
        if !entry.is(ScanKind::NoPointers) {
            self.0.barrier().note(at, object, bytes / WORD, Address::new(0));
        }
        Some((bytes, entry))
    }

    /// Calls `f` with the cell and the address of each external value of an open arena.
    fn for_each_external(self, arena: &ArenaHeader, f: impl Fn(usize, usize)) {
        let mut cell = self.0.owned().external_of(arena);
        while cell != 0 {
            // SAFETY: cells are written whole before they are committed, and lie in the arena, which is open.
            let [object, next] = unsafe { (cell as *const [usize; 2]).read() };
            f(cell, object);
            cell = next;
        }
    }
}

/// Zeroes words.
fn zero_words(words: &mut [usize]) {
    for block in words.chunks_mut(BLOCK) {
        if block.iter().fold(0, |all, word| all | word) != 0 {
            block.fill(0);
        }
    }
}
