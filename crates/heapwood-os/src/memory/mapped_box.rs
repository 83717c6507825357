//! One value in mapped memory of its own, with a stable address: for values outside the ordinary heap, and for those
//! behind pointers that other languages hold. Invariant: the memory is released right after the value is dropped.

use crate::error::OsError;
use crate::memory::kernel::KernelRef;
use crate::memory::mapped::Mapped;
use crate::memory::region::Reservation;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut, Range};
use core::ptr::NonNull;

/// An owned value in mapped memory.
pub struct MappedBox<T>(NonNull<BoxMemory<T>>);

/// The value, and the reservation that both lie in. The value comes first, so that its address is that of the whole.
#[repr(C)]
struct BoxMemory<T> {
    value: T,
    memory: Reservation,
}

// SAFETY: the box owns its value and memory, so it may move as the value may.
unsafe impl<T: Send> Send for MappedBox<T> {}
// SAFETY: the box gives shared access to its value only.
unsafe impl<T: Sync> Sync for MappedBox<T> {}

impl<T> MappedBox<T> {
    /// Maps memory for `value` and moves it there.
    ///
    /// # Errors
    /// The kernel refuses the memory. The value is dropped.
    pub fn new(kernel: KernelRef, value: T) -> Result<Self, OsError> {
        let (size, align) = (size_of::<BoxMemory<T>>(), align_of::<BoxMemory<T>>());
        let memory = Reservation::new(kernel, size, align)?;
        memory.commit(0..size)?;
        let place =
            NonNull::new(memory.start() as *mut BoxMemory<T>).expect("the kernel maps nothing at zero");
        // SAFETY: the memory is committed, aligned, large enough, and owned by this function alone.
        unsafe { place.write(BoxMemory { value, memory }) };
        Ok(MappedBox(place))
    }

    /// Gives up ownership of the value, which keeps its address, until [`MappedBox::from_raw`].
    pub fn into_raw(self) -> NonNull<T> {
        ManuallyDrop::new(self).0.cast()
    }

    /// Takes ownership again.
    ///
    /// # Safety
    /// 1. `value` came from [`MappedBox::into_raw`], and has no other owner.
    pub unsafe fn from_raw(value: NonNull<T>) -> Self {
        MappedBox(value.cast())
    }
}

impl<T> Mapped for MappedBox<T> {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        // SAFETY: the value lies in its box.
        unsafe { Self::for_each_mapping_around(self, f) };
    }
}

impl<T> MappedBox<T> {
    /// The mapping around a value whose box has been [given up](MappedBox::into_raw), or is not at hand.
    ///
    /// # Safety
    /// 1. The value lies in a box.
    pub unsafe fn for_each_mapping_around(value: &T, f: &mut dyn FnMut(Range<usize>)) {
        // SAFETY: contract 1: the reservation follows its value.
        unsafe { (*core::ptr::from_ref(value).cast::<BoxMemory<T>>()).memory.for_each_mapping(f) };
    }
}

impl<T> Deref for MappedBox<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the value was written in `new` and lives until drop.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T> DerefMut for MappedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for deref, and the borrow of the box is exclusive.
        unsafe { &mut self.0.as_mut().value }
    }
}

impl<T> Drop for MappedBox<T> {
    fn drop(&mut self) {
        // SAFETY: moves both out of the memory, which is released last, and once.
        let BoxMemory { value, memory } = unsafe { self.0.read() };
        drop(value);
        drop(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SYSTEM;
    use std::rc::Rc;

    #[test]
    fn a_box_drops_its_value_once() {
        let witness = Rc::new(());
        let raw = MappedBox::new(&SYSTEM, witness.clone()).unwrap().into_raw();
        // SAFETY: `into_raw` returned it just above.
        drop(unsafe { MappedBox::from_raw(raw) });
        assert_eq!(Rc::strong_count(&witness), 1);
    }
}
