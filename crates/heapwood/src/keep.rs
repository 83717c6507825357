//! Guards that keep a local `Gc` where the collector sees it. A variable is on the stack until its last use, not until
//! its scope ends. References that were borrowed from it and stored in a `Vec` or a `Box` may be used after that.
//! Invariant: the word of a [`Kept`] is in the thread's registers or stack until the guard is dropped. The idea and the
//! name are those of Go's `runtime.KeepAlive`.

use crate::mutator::Mutator;
use crate::unbranded::Gc;
use core::arch::asm;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

/// A use of `object` that the compiler neither removes nor moves. The object is alive up to this call, even if the
/// program does not use the `Gc` any more.
///
/// Its only cost is the register or stack word that holds the `Gc` until then.
#[inline(always)]
pub fn keep_alive<T>(object: Gc<T>) {
    // SAFETY: no instruction is executed. For the compiler, asm without options may read all memory and has an effect.
    unsafe { asm!("/* {0} is alive */", in(reg) Gc::as_ptr(object), options(nostack, preserves_flags)) };
}

/// Keeps an object alive until the guard is dropped. Made by [`Mutator::keep`].
///
/// References that are borrowed from the guard may be put into collections, boxed and sorted: the guard exists as long
/// as they are used. The guard itself must be on the stack.
pub struct Kept<'m, T> {
    object: Gc<T>,
    _mutator: PhantomData<&'m Mutator>,
}

impl Mutator {
    /// Keeps `object` alive until the guard is dropped, for references into it that are stored outside the stack.
    ///
    /// ```
    /// # use heapwood::{Config, Heap, Mutator};
    /// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
    /// # let m = heap.attach().unwrap();
    /// # fn call_script(m: &Mutator, _: &u64) { m.alloc(1u64); }
    /// let numbers = m.keep(m.alloc_slice(1000, |i| m.alloc(i as u64)));
    /// let mut sorted: Vec<&u64> = numbers.iter().map(|number| &**number).collect();
    /// sorted.sort();
    /// for number in sorted {
    ///     call_script(&m, number); // May collect, and only the slice keeps the numbers alive.
    /// }
    /// ```
    #[inline]
    pub fn keep<T>(&self, object: Gc<T>) -> Kept<'_, T> {
        Kept { object, _mutator: PhantomData }
    }
}

impl<T> Kept<'_, T> {
    /// The object: `Kept::gc(&kept)`.
    #[inline]
    pub fn gc(this: &Self) -> Gc<T> {
        this.object
    }
}

impl<T> Deref for Kept<'_, T> {
    type Target = Gc<T>;
    #[inline]
    fn deref(&self) -> &Gc<T> {
        &self.object
    }
}

impl<T> Drop for Kept<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        keep_alive(self.object);
    }
}

impl<T> fmt::Debug for Kept<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kept").field(&Gc::as_ptr(self.object)).finish()
    }
}
