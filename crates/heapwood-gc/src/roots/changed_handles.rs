//! Which handles were made or set since the last collection: a byte for each block of them. A young collection looks at those
//! blocks alone, for what other handles refer to is old. Invariant: a handle whose object is young lies in a block that has
//! its byte.

use super::handles::{BLOCK, Handle};
use core::ops::Range;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use heapwood_layout::WORD;
use heapwood_os::{KernelRef, MappedArray, OsError};

/// The blocks of one heap's handles.
pub(super) struct ChangedHandles {
    blocks: MappedArray<AtomicU8>,
    first: usize,
    /// No slot from this one on was ever a handle's.
    end: AtomicUsize,
}

impl ChangedHandles {
    /// None, of the handles with these slots.
    pub(super) fn new(kernel: KernelRef, slots: Range<usize>) -> Result<Self, OsError> {
        let blocks = MappedArray::new(kernel, slots.len() / WORD / BLOCK)?;
        blocks.commit(0..blocks.len())?;
        Ok(ChangedHandles { blocks, first: slots.start, end: AtomicUsize::new(0) })
    }

    fn block(&self, index: usize) -> &AtomicU8 {
        // SAFETY: all are committed; handles lie in blocks of the table.
        unsafe { &*self.blocks.at(index) }
    }

    /// A handle refers to another object.
    pub(super) fn note(&self, handle: Handle) {
        let index = (handle.slot().as_ptr() as usize - self.first) / WORD;
        if self.end.load(Ordering::Relaxed) <= index {
            self.end.fetch_max(index + 1, Ordering::Relaxed);
        }
        self.block(index / BLOCK).store(1, Ordering::Release);
    }

    /// Whether a handle was ever at an address: there is a slot, which may be read.
    pub(super) fn was_handle(&self, address: usize) -> bool {
        let offset = address.wrapping_sub(self.first);
        offset.is_multiple_of(WORD) && offset / WORD < self.end.load(Ordering::Relaxed)
    }

    /// Calls `f` with the address and the number of the words of each block that has changed.
    pub(super) fn for_each_block(&self, mut f: impl FnMut(usize, usize)) {
        for index in 0..self.end.load(Ordering::Relaxed).div_ceil(BLOCK) {
            if self.block(index).load(Ordering::Acquire) != 0 {
                f(self.first + index * BLOCK * WORD, BLOCK);
            }
        }
    }

    /// From now on none has.
    pub(super) fn forget(&self) {
        let end = self.end.load(Ordering::Relaxed).div_ceil(BLOCK);
        (0..end).for_each(|index| self.block(index).store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::super::handles::Handles;
    use super::*;
    use heapwood_os::SYSTEM;

    #[test]
    fn blocks_change_with_their_handles_until_that_is_forgotten() {
        let mut handles = Handles::new(&SYSTEM, 16 * BLOCK).unwrap();
        let changed = ChangedHandles::new(&SYSTEM, handles.slots()).unwrap();
        let all: Vec<_> = (0..10 * BLOCK).map(|i| handles.new_handle(i * 16 + 16).unwrap()).collect();
        let seen = || {
            let mut blocks = Vec::new();
            changed.for_each_block(|at, words| {
                assert_eq!(words, BLOCK);
                blocks.push((at - handles.slots().start) / WORD / BLOCK);
            });
            blocks
        };
        assert!(seen().is_empty());
        for index in [0, 3 * BLOCK - 1, 9 * BLOCK, 9 * BLOCK + 1] {
            changed.note(all[index]);
        }
        assert_eq!(seen(), [0, 2, 9]);
        changed.forget();
        assert!(seen().is_empty());
    }
}
