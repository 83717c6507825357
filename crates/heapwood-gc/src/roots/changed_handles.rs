//! Handles that were made or set since the last collection: one byte for each block of handles. A young collection
//! scans only those blocks, because all other handles refer to old objects. Invariant: a handle of a young object lies
//! in a block whose byte is set.

use super::handles::{BLOCK, Handle};
use core::ops::Range;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use heapwood_layout::WORD;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The blocks of one heap's handles.
pub(super) struct ChangedHandles {
    blocks: MappedArray<AtomicU8>,
    first: usize,
    /// One past the highest slot that was ever a handle's.
    end: AtomicUsize,
}

impl ChangedHandles {
    /// No changed blocks, for handles with these slots.
    pub(super) fn new(kernel: KernelRef, slots: Range<usize>) -> Result<Self, OsError> {
        let blocks = MappedArray::new(kernel, slots.len() / WORD / BLOCK)?;
        blocks.commit(0..blocks.len())?;
        Ok(ChangedHandles { blocks, first: slots.start, end: AtomicUsize::new(0) })
    }

    fn block(&self, index: usize) -> &AtomicU8 {
        // SAFETY: all are committed; handles lie in blocks of the table.
        unsafe { &*self.blocks.at(index) }
    }

    /// Notes that a handle refers to another object.
    pub(super) fn note(&self, handle: Handle) {
        let index = (handle.slot().as_ptr() as usize - self.first) / WORD;
        if self.end.load(Ordering::Relaxed) <= index {
            self.end.fetch_max(index + 1, Ordering::Relaxed);
        }
        self.block(index / BLOCK).store(1, Ordering::Release);
    }

    /// Whether an address was ever a handle's: then it is a slot, which may be read.
    pub(super) fn was_handle(&self, address: usize) -> bool {
        let offset = address.wrapping_sub(self.first);
        offset.is_multiple_of(WORD) && offset / WORD < self.end.load(Ordering::Relaxed)
    }

    /// Calls `f` with the address and the number of words of each changed block.
    pub(super) fn for_each_block(&self, mut f: impl FnMut(usize, usize)) {
        for index in 0..self.end.load(Ordering::Relaxed).div_ceil(BLOCK) {
            if self.block(index).load(Ordering::Acquire) != 0 {
                f(self.first + index * BLOCK * WORD, BLOCK);
            }
        }
    }

    /// Clears all bytes.
    pub(super) fn forget(&self) {
        let end = self.end.load(Ordering::Relaxed).div_ceil(BLOCK);
        (0..end).for_each(|index| self.block(index).store(0, Ordering::Relaxed));
    }
}

impl Mapped for ChangedHandles {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.blocks.for_each_mapping(f);
    }
}
