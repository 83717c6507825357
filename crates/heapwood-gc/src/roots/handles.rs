//! Handles: slots that the heap owns, each a root as long as it is held. They may be used from any thread that is
//! attached, and outlive the mutator that made them. A slot in use holds an object's address (even); a free slot
//! holds the number of the next free one, shifted left, plus 1.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};

const CAPACITY: usize = 1 << 24;
const STEP: usize = 1 << 12;
const NONE: usize = CAPACITY;

/// A slot that keeps an object alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(NonNull<AtomicUsize>);

// SAFETY: a handle names an atomic slot of the heap, which any thread may read.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// The slot itself: the address of the object is in it.
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

    /// The address of the object.
    ///
    /// # Safety
    /// 1. The handle has not been freed, and its heap exists.
    #[inline]
    pub unsafe fn get(self) -> usize {
        // SAFETY: the slot lives as long as the heap (contract 1).
        unsafe { self.0.as_ref() }.load(Ordering::Acquire)
    }
}

/// The handles of one heap.
pub struct Handles {
    slots: MappedArray<AtomicUsize>,
    committed: usize,
    used: usize,
    free: usize,
    held: usize,
}

impl Handles {
    /// A table of the usual capacity, or a smaller one where the kernel grants less address space.
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let mut capacity = CAPACITY;
        let slots = loop {
            match MappedArray::new(kernel, capacity) {
                Err(_) if capacity > STEP => capacity /= 4,
                done => break done?,
            }
        };
        Ok(Handles { slots, committed: 0, used: 0, free: NONE, held: 0 })
    }

    fn slot(&self, index: usize) -> &AtomicUsize {
        debug_assert!(index < self.committed);
        // SAFETY: slots below `committed` are committed, and are atomics.
        unsafe { &*self.slots.at(index) }
    }

    pub(crate) fn new_handle(&mut self, object: usize) -> Result<Handle, OsError> {
        let index = if self.free != NONE {
            let index = self.free;
            self.free = self.slot(index).load(Ordering::Relaxed) >> 1;
            index
        } else {
            if self.used == self.committed {
                let more = (self.committed + STEP).min(self.slots.len());
                if more == self.committed {
                    return Err(OsError {
                        request: heapwood_os::Request::Commit,
                        bytes: self.slots.len() * 8,
                        errno: 12,
                    });
                }
                self.slots.commit(self.committed..more)?;
                self.committed = more;
            }
            self.used += 1;
            self.used - 1
        };
        self.slot(index).store(object, Ordering::Release);
        self.held += 1;
        Ok(Handle(NonNull::from(self.slot(index))))
    }

    /// Frees a handle; false if it is not one that is held.
    pub(crate) fn free_handle(&mut self, handle: Handle) -> bool {
        let offset = (handle.0.as_ptr() as usize).wrapping_sub(self.slots.as_ptr() as usize);
        let index = offset / size_of::<usize>();
        if !offset.is_multiple_of(size_of::<usize>()) || index >= self.used {
            return false;
        }
        if self.slot(index).load(Ordering::Relaxed) & 1 != 0 {
            return false;
        }
        self.slot(index).store(self.free << 1 | 1, Ordering::Release);
        self.free = index;
        self.held -= 1;
        true
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn for_each(&self, mut f: impl FnMut(usize)) {
        for index in 0..self.used {
            let value = self.slot(index).load(Ordering::Relaxed);
            if value & 1 == 0 && value != 0 {
                f(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_handles_are_used_again_and_not_freed_twice() {
        let mut handles = Handles::new(&heapwood_os::SYSTEM).unwrap();
        let all: Vec<_> = (0..10_000).map(|i| handles.new_handle(i * 16).unwrap()).collect();
        assert!(handles.free_handle(all[7]));
        assert!(!handles.free_handle(all[7]));
        assert!(handles.free_handle(all[9000]));
        let again = handles.new_handle(32).unwrap();
        assert_eq!(again, all[9000]);
        let mut sum = 0;
        handles.for_each(|o| sum += o);
        assert_eq!(sum, (0..10_000).map(|i| i * 16).sum::<usize>() - 7 * 16 - 9000 * 16 + 32);
        assert_eq!(handles.held(), 9_999);
    }
}
