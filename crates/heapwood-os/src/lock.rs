//! A mutex and a wait word on a Linux futex. States of the mutex: 0 free, 1 taken, 2 taken with waiters; it is
//! the three-state scheme of Drepper's "Futexes Are Tricky". It never allocates, so the collector may use it. Under
//! loom the same code runs on loom's atomics, so that models of what it guards are models of it too.

use core::ops::{Deref, DerefMut};
use core::sync::atomic::AtomicU32;
use sync::{Ordering, UnsafeCell, Word};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const CONTENDED: u32 = 2;
/// One turn is enough for the model.
const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };

#[cfg(not(loom))]
mod sync {
    pub(super) use super::{wait, wake};
    pub(super) use core::cell::UnsafeCell;
    pub(super) use core::sync::atomic::{AtomicU32 as Word, Ordering};
}

#[cfg(loom)]
mod sync {
    pub(super) use loom::cell::UnsafeCell;
    use loom::sync::atomic::AtomicU32;
    pub(super) use loom::sync::atomic::Ordering;
    use loom::sync::{Condvar, Mutex};

    /// A word and its queue in the kernel. Who is not woken sleeps for ever, which loom reports.
    pub(super) struct Word {
        word: AtomicU32,
        kernel: Mutex<()>,
        queue: Condvar,
    }

    impl Word {
        pub(super) fn new(value: u32) -> Self {
            Word { word: AtomicU32::new(value), kernel: Mutex::new(()), queue: Condvar::new() }
        }
    }

    impl core::ops::Deref for Word {
        type Target = AtomicU32;
        fn deref(&self) -> &AtomicU32 {
            &self.word
        }
    }

    pub(super) fn wait(word: &Word, expected: u32) {
        let inside = word.kernel.lock().unwrap();
        if word.load(Ordering::Relaxed) == expected {
            drop(word.queue.wait(inside).unwrap());
        }
    }

    pub(super) fn wake(word: &Word, _: i32) {
        drop(word.kernel.lock().unwrap());
        word.queue.notify_one();
    }
}

/// Sleeps while `word` holds `expected`; may return for no reason, so callers loop.
pub fn wait(word: &AtomicU32, expected: u32) {
    futex_wait(word, expected, None);
}

/// The same, for at most so long.
pub fn wait_for(word: &AtomicU32, expected: u32, at_most: core::time::Duration) {
    let time = libc::timespec {
        tv_sec: at_most.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: at_most.subsec_nanos() as libc::c_long,
    };
    futex_wait(word, expected, Some(&time));
}

fn futex_wait(word: &AtomicU32, expected: u32, at_most: Option<&libc::timespec>) {
    let time = at_most.map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: the word, and the time if there is one, are valid for the whole call; a futex wait only reads them.
    unsafe {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, time);
    }
}

/// Wakes at most `count` threads that sleep on `word`.
pub fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: a futex wake uses the address only as a key.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}

/// A mutual exclusion lock around a value.
pub struct Lock<T> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value to one thread at a time.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock around `value`.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Lock { word: Word::new(FREE), value: UnsafeCell::new(value) }
    }

    /// A free lock around `value`; loom's parts cannot be made at compile time.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Lock { word: Word::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits until the lock is free and takes it.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        if self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slow();
        }
        LockGuard { lock: self }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        self.word
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| LockGuard { lock: self })
    }

    /// The value, through exclusive access to the lock.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: the borrow of the lock is exclusive.
        unsafe { &mut *self.value() }
    }

    /// Where the value is. To loom this is an access, which must come after those of other threads.
    #[inline]
    fn value(&self) -> *mut T {
        #[cfg(not(loom))]
        return self.value.get();
        #[cfg(loom)]
        return self.value.with_mut(|value| value);
    }

    #[cold]
    fn lock_slow(&self) {
        for _ in 0..SPINS {
            if self.word.load(Ordering::Relaxed) == FREE
                && self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            core::hint::spin_loop();
        }
        while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            sync::wait(&self.word, CONTENDED);
        }
    }
}

/// Access to a locked value; dropping it frees the lock.
pub struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread holds the lock.
        unsafe { &*self.lock.value() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for deref, and the borrow of the guard is exclusive.
        unsafe { &mut *self.lock.value() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    fn drop(&mut self) {
        if self.lock.word.swap(FREE, Ordering::Release) == CONTENDED {
            sync::wake(&self.lock.word, 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn counts_from_many_threads_add_up() {
        let lock = Arc::new(Lock::new(0u64));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                std::thread::spawn(move || {
                    for _ in 0..50_000 {
                        *lock.lock() += 1;
                    }
                })
            })
            .collect();
        for t in threads {
            t.join().unwrap();
        }
        assert_eq!(*lock.lock(), 200_000);
    }

    #[test]
    fn a_taken_lock_is_not_taken_again() {
        let lock = Lock::new(());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn what_is_locked_is_one_threads_at_a_time() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let lock = Arc::new(Lock::new(0));
            let theirs = lock.clone();
            let thread = loom::thread::spawn(move || {
                *theirs.lock() += 1;
                *theirs.lock() += 1;
            });
            *lock.lock() += 1;
            // One that fails to take it has changed nothing.
            if let Some(mut value) = lock.try_lock() {
                *value += 1;
            } else {
                *lock.lock() += 1;
            }
            thread.join().unwrap();
            assert_eq!(*lock.lock(), 4);
        });
    }
}
