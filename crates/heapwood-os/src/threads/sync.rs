//! Atomics and futexes, or loom's in their place, so that loom's models check the product's own code: locks, the page
//! allocator's index, the data that a heap reads without its lock, and the stop protocol. Invariant: both variants
//! have the same names; without `cfg(loom)` they are the ordinary types.

#[cfg(not(loom))]
pub use crate::threads::futex::{wait, wait_for, wake};
#[cfg(not(loom))]
pub use core::cell::UnsafeCell;
#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub use std::thread::yield_now;

/// A word that threads can wait on.
#[cfg(not(loom))]
pub type Futex = AtomicU32;

/// Words in mapped memory, committed on demand.
#[cfg(not(loom))]
pub type AtomicArray<T> = crate::MappedArray<T>;

#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::yield_now,
};
#[cfg(loom)]
pub use modelled::{AtomicArray, Futex, wait, wait_for, wake};

#[cfg(loom)]
mod modelled {
    use super::{AtomicU32, Ordering};
    use crate::{KernelRef, OsError};
    use core::ops::{Deref, Range};
    use core::time::Duration;
    use loom::sync::{Condvar, Mutex};

    /// A word and its queue of waiters. A thread that is never woken sleeps forever, which loom reports.
    pub struct Futex {
        word: AtomicU32,
        kernel: Mutex<()>,
        queue: Condvar,
    }

    impl Futex {
        /// A word without waiters.
        pub fn new(value: u32) -> Self {
            Futex { word: AtomicU32::new(value), kernel: Mutex::new(()), queue: Condvar::new() }
        }
    }

    impl Deref for Futex {
        type Target = AtomicU32;
        fn deref(&self) -> &AtomicU32 {
            &self.word
        }
    }

    /// As [`crate::threads::futex::wait`].
    pub fn wait(word: &Futex, expected: u32) {
        let inside = word.kernel.lock().unwrap();
        if word.load(Ordering::Relaxed) == expected {
            drop(word.queue.wait(inside).unwrap());
        }
    }

    /// As [`crate::threads::futex::wait_for`], but without a timeout: time does not pass in a model.
    pub fn wait_for(word: &Futex, expected: u32, _: Duration) {
        wait(word, expected);
    }

    /// As [`crate::threads::futex::wake`].
    pub fn wake(word: &Futex, count: i32) {
        drop(word.kernel.lock().unwrap());
        match count {
            1 => word.queue.notify_one(),
            _ => word.queue.notify_all(),
        }
    }

    /// All elements exist from the start, since loom's atomics have identities.
    pub struct AtomicArray<T>(Vec<T>);

    impl<T> crate::memory::mapped::Mapped for AtomicArray<T> {
        fn for_each_mapping(&self, _: &mut dyn FnMut(Range<usize>)) {}
    }

    impl<T: Default> AtomicArray<T> {
        /// As [`crate::MappedArray::new`].
        pub fn new(_: KernelRef, len: usize) -> Result<Self, OsError> {
            Ok(AtomicArray((0..len).map(|_| T::default()).collect()))
        }

        /// As [`crate::MappedArray::commit`].
        pub fn commit(&self, _: Range<usize>) -> Result<(), OsError> {
            Ok(())
        }

        /// As [`crate::MappedArray::at`].
        pub fn at(&self, index: usize) -> *const T {
            &self.0[index]
        }
    }
}
