//! Handles: slots that the heap owns, each a root as long as the program holds it. Any attached thread may use a
//! handle, and it outlives the mutator that made it. Invariants: a slot in use holds an object's address; a free slot
//! holds the number of the next free one, shifted left, plus 1, which is odd and below every heap; each block counts
//! its held slots, so that collections skip blocks without any.

use crate::error::Refusal;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::publication;
use heapwood_layout::WORD;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError, for_each_mapping_of};

/// The most handles of a heap. Their slots reserve 128 MiB of addresses, and are committed as they are used.
pub(crate) const MAX_HANDLES: usize = 1 << 24;
/// Slots of a block: a kernel page of them.
pub(super) const BLOCK: usize = 512;
/// Slots are committed in steps of this size, whole blocks.
const STEP: usize = 8 * BLOCK;
/// The end of the free list: no slot's number.
const NONE: usize = MAX_HANDLES;

/// Whether a slot with this value is free. A string in an arena may lie at an odd address, but no heap lies so low.
fn is_free(value: usize) -> bool {
    value & 1 != 0 && value <= NONE << 1 | 1
}

/// A slot that keeps an object alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(NonNull<AtomicUsize>);

// SAFETY: a handle names an atomic slot of the heap, which any thread may read.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// The slot, which holds the address of the object.
    pub fn slot(self) -> NonNull<AtomicUsize> {
        self.0
    }

    /// The handle of a slot that [`Handle::slot`] returned.
    ///
    /// # Safety
    /// 1. The slot belongs to a handle that has not been freed.
    pub unsafe fn from_slot(slot: NonNull<AtomicUsize>) -> Self {
        Handle(slot)
    }

    /// The handle at an address, if it is held; a free slot holds the number of another.
    ///
    /// # Safety
    /// 1. The address is a slot of a heap that exists.
    pub(super) unsafe fn held_at(address: usize) -> Option<Self> {
        let slot = NonNull::new(address as *mut AtomicUsize)?;
        // SAFETY: contract 1.
        (!is_free(unsafe { slot.as_ref() }.load(Ordering::Relaxed))).then_some(Handle(slot))
    }

    /// Makes it refer to the object at this address.
    pub(super) fn set(self, object: usize) {
        // SAFETY: slots stay in place as long as the heap, which the caller has.
        publication::store(unsafe { self.0.as_ref() }, object);
    }

    /// The address of the object.
    ///
    /// # Safety
    /// 1. The handle has not been freed, and its heap exists.
    #[inline]
    pub unsafe fn get(self) -> usize {
        // SAFETY: the slot lives as long as the heap (contract 1).
        publication::load(unsafe { self.0.as_ref() })
    }
}

/// The handles of one heap.
pub(crate) struct Handles {
    slots: MappedArray<AtomicUsize>,
    /// The number of held slots of each block.
    held_in: MappedArray<u32>,
    committed: usize,
    used: usize,
    free: usize,
    held: usize,
}

impl Handles {
    /// A table for `capacity` handles, or a smaller one where the kernel grants less address space.
    pub(crate) fn new(kernel: KernelRef, capacity: usize) -> Result<Self, OsError> {
        let mut capacity = capacity.clamp(1, MAX_HANDLES).next_multiple_of(STEP);
        let slots = loop {
            match MappedArray::new(kernel, capacity) {
                Err(_) if capacity > STEP => capacity = (capacity / 4).next_multiple_of(STEP),
                done => break done?,
            }
        };
        let held_in = MappedArray::new(kernel, capacity / BLOCK)?;
        Ok(Handles { slots, held_in, committed: 0, used: 0, free: NONE, held: 0 })
    }

    /// The addresses of all slots that the table can ever have.
    pub(super) fn slots(&self) -> core::ops::Range<usize> {
        let first = self.slots.as_ptr() as usize;
        first..first + self.slots.len() * WORD
    }

    fn slot(&self, index: usize) -> &AtomicUsize {
        debug_assert!(index < self.committed);
        // SAFETY: slots below `committed` are committed, and are atomics.
        unsafe { &*self.slots.at(index) }
    }

    fn held_in(&mut self, block: usize) -> &mut u32 {
        debug_assert!(block < self.committed / BLOCK);
        // SAFETY: the counts of committed blocks are committed, and the borrow is exclusive.
        unsafe { &mut *self.held_in.at(block) }
    }

    /// A slot that is not in use.
    fn take(&mut self) -> Result<usize, Refusal> {
        if self.free != NONE {
            let index = self.free;
            self.free = self.slot(index).load(Ordering::Relaxed) >> 1;
            return Ok(index);
        }
        if self.used == self.committed {
            let (from, to) = (self.committed, self.committed + STEP);
            if to > self.slots.len() {
                return Err(Refusal::ManyHandles { most: self.slots.len() });
            }
            self.held_in.commit(from / BLOCK..to / BLOCK)?;
            self.slots.commit(from..to)?;
            self.committed = to;
        }
        self.used += 1;
        Ok(self.used - 1)
    }

    pub(crate) fn new_handle(&mut self, object: usize) -> Result<Handle, Refusal> {
        let index = self.take()?;
        self.slot(index).store(object, Ordering::Release);
        *self.held_in(index / BLOCK) += 1;
        self.held += 1;
        Ok(Handle(NonNull::from(self.slot(index))))
    }

    /// Frees a handle; false if it is not held.
    pub(crate) fn free_handle(&mut self, handle: Handle) -> bool {
        let offset = (handle.0.as_ptr() as usize).wrapping_sub(self.slots.as_ptr() as usize);
        let index = offset / WORD;
        if !offset.is_multiple_of(WORD) || index >= self.used {
            return false;
        }
        if is_free(self.slot(index).load(Ordering::Relaxed)) {
            return false;
        }
        self.slot(index).store(self.free << 1 | 1, Ordering::Release);
        self.free = index;
        *self.held_in(index / BLOCK) -= 1;
        self.held -= 1;
        true
    }

    /// The number of held handles.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.held
    }

    /// Calls `f` with the address and the number of words of each run of blocks with held handles. Each word is null,
    /// outside every heap, or the address of an object.
    pub(crate) fn for_each_block(&self, mut f: impl FnMut(usize, usize)) {
        let mut block = 0;
        let last = self.used.div_ceil(BLOCK);
        // SAFETY: the counts of blocks in use are committed; shared access only reads.
        let is_held = |block: usize| unsafe { self.held_in.at(block).read() } != 0;
        while block < last {
            let first = block;
            while block < last && is_held(block) {
                block += 1;
            }
            if block > first {
                let (from, to) = (first * BLOCK, (block * BLOCK).min(self.used));
                f(self.slots.at(from) as usize, to - from);
            }
            block += 1;
        }
    }
}

impl Mapped for Handles {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.slots, &self.held_in], f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;

    #[test]
    fn a_full_table_says_so_and_how_many_it_holds() {
        let mut handles = Handles::new(&SYSTEM, STEP).unwrap();
        let first = handles.new_handle(16).unwrap();
        (1..STEP).for_each(|_| _ = handles.new_handle(16).unwrap());
        let full = Refusal::ManyHandles { most: STEP };
        assert_eq!(handles.new_handle(16), Err(full));
        assert!(full.to_string().contains("4096 handles are held"));
        assert!(handles.free_handle(first));
        assert_eq!(handles.new_handle(32), Ok(first));
    }

    #[test]
    fn a_kernel_that_refuses_is_an_error_and_no_loss() {
        static KERNEL: heapwood_os_testing::faulty::Faulty = heapwood_os_testing::faulty::Faulty::new();
        let mut handles = Handles::new(&KERNEL, MAX_HANDLES).unwrap();
        for refused in 0..2 {
            KERNEL.refuse(refused);
            assert!(matches!(handles.new_handle(16), Err(Refusal::Kernel(_))));
        }
        assert!(handles.new_handle(16).is_ok() && handles.held() == 1);
    }
}
