//! A reserve: memory that a mutator keeps so that its thread's next allocations cannot fail, while a virtual machine has no way out of
//! them. It is an object without pointers, which a handle keeps alive; when an allocation would fail, it is freed first, and the
//! allocation goes on. Invariant: the reserve is used up by the first allocation that needs it, and is whole before.

use crate::error::AllocError;
use crate::mutator::Mutator;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use heapwood_heap::{Address, Scan};
use heapwood_layout::Layout;

/// The least reserve: the largest span of cells.
const LEAST: usize = 128 << 10;

impl Mutator {
    /// From now on N bytes that this thread allocates cannot fail for lack of room, whatever it has had before; 0: none. Asking again
    /// while the reserve is whole costs nothing. An allocation that takes it leaves none. Cells count with their size class, and each
    /// layout that has no free cell takes a span (up to 128 KiB). Other threads of the heap that allocate at the same time may take
    /// what is given back before this one does. May collect.
    ///
    /// # Errors
    /// As for [`Mutator::allocate`], now; there is no reserve then.
    pub fn reserve_bytes(&self, bytes: usize) -> Result<(), AllocError> {
        self.check().map_err(AllocError::Misuse)?;
        if bytes == self.room_kept().bytes() {
            return Ok(());
        }
        self.release_reserve();
        if bytes == 0 {
            return Ok(());
        }
        let ty = self.types().type_for(bytes.max(LEAST), Scan::Layout(Layout::NoPointers))?;
        let object = self.allocate(ty)?;
        // SAFETY: it was made just now.
        let handle = unsafe { self.heap().roots().new_handle(Address::from(object.as_ptr())) };
        match handle {
            Ok(handle) => {
                self.room_kept().set(handle, bytes);
                Ok(())
            }
            Err(e) => Err(AllocError::Handle(e)),
        }
    }

    /// The bytes of its reserve, if that is whole.
    pub fn reserved_bytes(&self) -> usize {
        self.room_kept().bytes()
    }

    /// Gives the reserve back; whether there was one.
    pub(crate) fn release_reserve(&self) -> bool {
        let Some(handle) = self.room_kept().take() else { return false };
        // SAFETY: it is held.
        let object = unsafe { handle.slot().as_ref() }.load(Ordering::Relaxed);
        self.heap().roots().free_handle(handle);
        if self.shared().faults().fails(crate::inject::Fault::ReserveKept) {
            return false;
        }
        if let Some(object) = NonNull::new(object as *mut u8) {
            // SAFETY: nothing but the handle has led there. If it is refused a collection frees it.
            let _ = unsafe { self.free(object) };
        }
        true
    }

    /// Its thread leaves: a collection frees the reserve.
    pub(crate) fn forget_reserve(&self) {
        if let Some(handle) = self.room_kept().take() {
            self.heap().roots().free_handle(handle);
        }
    }
}
