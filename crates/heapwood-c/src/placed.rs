//! Values behind the opaque handles of the header: each has mapped memory of its own and stays where it is until
//! it is ended. Invariant: the memory is released exactly when the value has been dropped.

use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_os::{OsError, Reservation, SYSTEM};

/// A value, and the memory it lies in.
pub struct Placed<T> {
    value: T,
    memory: Reservation,
}

impl<T> Placed<T> {
    /// Maps memory for `value` and moves it there.
    pub fn new(value: T) -> Result<NonNull<Placed<T>>, OsError> {
        let memory = Reservation::new(&SYSTEM, size_of::<Self>(), align_of::<Self>())?;
        memory.commit(0..size_of::<Self>())?;
        let place = memory.start() as *mut Self;
        // SAFETY: the memory is committed, aligned, large enough, and ours alone.
        unsafe { place.write(Placed { value, memory }) };
        // SAFETY: the kernel maps nothing at address zero.
        Ok(unsafe { NonNull::new_unchecked(place) })
    }

    /// Drops the value, then releases its memory.
    ///
    /// # Safety
    /// 1. `this` came from [`Placed::new`], and is not used afterwards.
    pub unsafe fn end(this: NonNull<Placed<T>>) {
        // SAFETY: contract 1; moving the whole out leaves nothing in the memory that is released last.
        let Placed { value, memory } = unsafe { this.read() };
        drop(value);
        drop(memory);
    }
}

impl<T> Deref for Placed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}
