//! What threads share, or loom's in its place, so that loom's models check the product's own code: the lock, the index of
//! the page allocator, what a heap reads beside its lock and the stop protocol take their atomics from here. Invariant: the two halves have the same names;
//! without `cfg(loom)` they are the plain ones.

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

/// Words in mapped memory, committed where they are needed.
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

    /// A word and its queue in the kernel. Who is not woken sleeps for ever, which loom reports.
    pub struct Futex {
        word: AtomicU32,
        kernel: Mutex<()>,
        queue: Condvar,
    }

    impl Futex {
        /// A word that nobody waits on.
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

    /// As [`crate::threads::futex::wait_for`]; time does not pass in a model.
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

    /// Loom's atomics are more than their bits, so that all must be made at once.
    pub struct AtomicArray<T>(Vec<T>);

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
