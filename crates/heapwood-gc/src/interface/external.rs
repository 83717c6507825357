//! Values of arenas that live in the heap: those that are long, or whose pointers no mask tells. A cell of the arena names each; nothing
//! else keeps them. When the arena ends they are freed with it, if nothing can refer to them any more; else they are emptied, and the
//! collector frees them: what they hold becomes zeros, so a stale pointer to one keeps that alone, and whatever it referred to may be
//! freed, like what the arena's own values referred to.
//! Invariant: no value that lives in the heap refers to anything once its arena has ended, unless the arena was left to the collector,
//! or it was promised that nothing refers to the value.

use crate::error::AllocError;
use crate::mark::Shading;
use crate::mutator::Mutator;
use crate::observe::for_each_slot;
use core::ptr::NonNull;
use heapwood_heap::{Address, ArenaHeader, ArenaKind, ArenaLayout, ObjectRef, PageEntry, ScanKind};
use heapwood_layout::WORD;

/// What stands for the cells of an arena that name values in the heap; no other layout has this key.
const EXTERNAL: usize = 1;
const EXTERNAL_LAYOUT: ArenaLayout = match ArenaLayout::new(2 * WORD, [0b11, 0, 0, 0]) {
    Some(layout) => layout,
    None => unreachable!(),
};

/// Words that one section makes zeros: a signal waits no longer than that.
const STEP: usize = (64 << 10) / WORD;
/// Words of a block, which is not written if it holds zeros already: what was never written of a long value gets no memory.
const BLOCK: usize = (4 << 10) / WORD;

impl Mutator {
    /// A value that lives in the heap, where `allocate` makes it, for as long as the arena has it: one that is long, or whose pointers
    /// no mask tells. May collect.
    ///
    /// # Errors
    /// As [`reserve_in_arena`](Mutator::reserve_in_arena), or `allocate`'s.
    ///
    /// # Safety
    /// 1. As there.
    pub unsafe fn allocate_external(
        &self,
        arena: &ArenaHeader,
        allocate: impl FnOnce() -> Result<NonNull<u8>, AllocError>,
    ) -> Result<NonNull<u8>, AllocError> {
        // Its cell first: then nothing collects between the value and the cell that keeps it.
        // SAFETY: contract 1.
        unsafe { self.reserve_in_arena(arena, (EXTERNAL, EXTERNAL_LAYOUT), 1) }?;
        let object = allocate()?;
        let _no_preempt = self.record().no_preempt();
        let owner = self.owned();
        // SAFETY: as above. There was room for the cell, and nobody has taken it.
        let cell = unsafe { owner.reserve_in_arena(arena, (EXTERNAL, EXTERNAL_LAYOUT), 1) }
            .unwrap_or_else(|_| unreachable!("there was room"));
        // SAFETY: the cell is this arena's, and of two words.
        unsafe { (cell as *mut [usize; 2]).write([object.as_ptr() as usize, owner.external_of(arena)]) };
        arena.commit(cell, EXTERNAL_LAYOUT.bytes());
        owner.set_external_of(arena, cell);
        Ok(object)
    }

    /// Frees the values of a borrowed arena that live in the heap: nothing can refer to them any more. Beside a marking, which may have
    /// to go through the arena, the collector does.
    ///
    /// # Safety
    /// 1. As for [`empty_arena`](Mutator::empty_arena).
    /// 2. The thread is in a section until the arena's own values are gone, too: those may refer to what is freed here, and so may what
    ///    is freed last to what is freed first. A collection, or a forked child's, between the two would find that.
    pub(crate) unsafe fn free_external(&self, arena: &ArenaHeader) {
        if arena.kind() != ArenaKind::Borrowed || self.is_concurrent_marking() {
            return;
        }
        self.for_each_external(arena, |cell, object| {
            // The cell is a slot that must not refer to what is freed.
            // SAFETY: cells lie in the arena, which is open.
            unsafe { (cell as *mut usize).write(0) };
            if let Some(object) = NonNull::new(object as *mut u8) {
                // SAFETY: contract 1: nothing refers to it.
                let _ = unsafe { self.free(object) };
            }
        });
        self.owned().set_external_of(arena, 0);
    }

    /// Empties the values of an escaping arena that live in the heap: pointers to them may be left. A collection that comes before the
    /// arena's end finds values that refer to less.
    ///
    /// # Safety
    /// 1. As for [`empty_arena`](Mutator::empty_arena).
    pub(crate) unsafe fn empty_external(&self, arena: &ArenaHeader) {
        if arena.kind() != ArenaKind::Escaping {
            return;
        }
        self.for_each_external(arena, |_, object| {
            let Some((bytes, entry)) = self.begin_to_empty(Address::new(object)) else { return };
            if entry.is(ScanKind::NoPointers) {
                return;
            }
            for from in (0..bytes / WORD).step_by(STEP) {
                let _no_preempt = self.record().no_preempt();
                let words = STEP.min(bytes / WORD - from);
                // SAFETY: contract 1: nobody uses the value, which its cell keeps.
                make_zeros(unsafe {
                    core::slice::from_raw_parts_mut((object as *mut usize).add(from), words)
                });
            }
        });
    }

    /// A value is about to be emptied: its bytes, and how it is scanned; nothing if the program has freed it itself. A marking that is
    /// under way still finds what it refers to, and verify mode takes the zeros for stores.
    fn begin_to_empty(&self, object: Address) -> Option<(usize, PageEntry)> {
        let (space, at) = (self.shared().space(), ObjectRef::new(object.get()));
        let span = space.find_span(object)?;
        if span.cell_in(object) != Some(object) || space.is_freed(at) {
            return None;
        }
        let (bytes, mut entry) = (span.object_bytes(), space.entry_at(object));
        if entry.is(ScanKind::Numbered) {
            // SAFETY: the object is one of such a span.
            entry = unsafe { space.layouts().numbered_entry(at) };
        }
        // What was made since the marking began is not looked at. A trace function is the program's: no section holds it.
        if self.is_concurrent_marking() && space.is_old(object) {
            self.shade_all(at, bytes, entry);
        }
        if !entry.is(ScanKind::NoPointers) {
            self.note(at, object, bytes / WORD);
        }
        Some((bytes, entry))
    }

    /// Shades all that an old object refers to.
    fn shade_all(&self, object: ObjectRef, bytes: usize, entry: PageEntry) {
        let (state, space) = (self.shared(), self.shared().space());
        let mut shading = Shading::of(state);
        // SAFETY: the words lie in the object, which exists.
        let word = |slot: usize| unsafe { (slot as *const usize).read() };
        match (entry.kind(), space.layouts().shape(entry.shape()).trace()) {
            // SAFETY: the object exists, and its shape has this function.
            (Some(ScanKind::Trace), Some(trace)) => unsafe {
                shading.all_of(object, bytes / WORD * WORD, trace);
            },
            (Some(ScanKind::Conservative), _) => {
                let words = object.get()..object.get() + bytes / WORD * WORD;
                words.step_by(WORD).for_each(|slot| shading.word(word(slot)));
            }
            _ => for_each_slot(space, object.get(), bytes, |slot| shading.object(word(slot))),
        }
    }

    /// Calls `f` with the cell and the value of all that lives in the heap of an open arena.
    fn for_each_external(&self, arena: &ArenaHeader, f: impl Fn(usize, usize)) {
        let mut cell = self.owned().external_of(arena);
        while cell != 0 {
            // SAFETY: cells are written whole before they are committed, and lie in the arena, which is open.
            let [object, next] = unsafe { (cell as *const [usize; 2]).read() };
            f(cell, object);
            cell = next;
        }
    }
}

/// Makes words zeros.
fn make_zeros(words: &mut [usize]) {
    for block in words.chunks_mut(BLOCK) {
        if block.iter().fold(0, |all, word| all | word) != 0 {
            block.fill(0);
        }
    }
}
