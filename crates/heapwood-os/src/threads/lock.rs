//! A mutex on a Linux futex, with the three states of Drepper's "Futexes Are Tricky": 0 free, 1 taken, 2 taken with
//! waiters. It never allocates, so the collector may use it. Under loom the same code runs on loom's atomics
//! ([`crate::threads::sync`]), so models check the lock too. Invariant: at most one thread holds the lock.

use crate::threads::lock_order::{self, LockRank};
use crate::threads::sync::{self, Futex, Ordering, UnsafeCell};
use core::ops::{Deref, DerefMut};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const CONTENDED: u32 = 2;
/// One spin is enough for a model.
const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };

/// A mutual exclusion lock around a value, and its place in the order of locks ([`lock_order`]).
pub struct Lock<T, const RANK: LockRank> {
    word: Futex,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value to one thread at a time.
unsafe impl<T: Send, const RANK: LockRank> Send for Lock<T, RANK> {}
// SAFETY: as above.
unsafe impl<T: Send, const RANK: LockRank> Sync for Lock<T, RANK> {}

impl<T, const RANK: LockRank> Lock<T, RANK> {
    /// A free lock around `value`.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Lock { word: Futex::new(FREE), value: UnsafeCell::new(value) }
    }

    /// A free lock around `value`. Loom's types have no const constructors.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Lock { word: Futex::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits until the lock is free and takes it.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn lock(&self) -> LockGuard<'_, T, RANK> {
        lock_order::check(RANK);
        if self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slow();
        }
        lock_order::take(RANK);
        LockGuard { lock: self }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<LockGuard<'_, T, RANK>> {
        self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).ok().map(|_| {
            lock_order::take(RANK);
            LockGuard { lock: self }
        })
    }

    /// The value, for a thread that holds the lock without a guard.
    ///
    /// # Safety
    /// 1. This thread holds the lock, by [`ForkLock::try_hold`] or a guard that it has forgotten, as long as the
    ///    reference is used, and writes nothing meanwhile.
    pub unsafe fn held(&self) -> &T {
        // SAFETY: contract 1.
        unsafe { &*self.value() }
    }

    /// The value, through exclusive access to the lock.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: the borrow of the lock is exclusive.
        unsafe { &mut *self.value() }
    }

    /// The value's address. To loom this is an access, which must be ordered after those of other threads.
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

impl<T: Default, const RANK: LockRank> Default for Lock<T, RANK> {
    fn default() -> Self {
        Lock::new(T::default())
    }
}

/// A lock as a forking process sees it. The process holds all locks that a child needs, so the values behind them are
/// consistent in the child.
pub trait ForkLock {
    /// Its place in the order of locks.
    fn rank(&self) -> LockRank;

    /// Takes it if it is free; whether it has. The thread that forks waits for none without bound.
    fn try_hold(&self) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// 1. This thread holds it by [`try_hold`](Self::try_hold), or has forgotten its guard.
    unsafe fn let_go(&self);

    /// Marks the lock as free in a forked child, whichever thread held it before.
    ///
    /// # Safety
    /// 1. The process has no other thread, and this one has no guard of the lock.
    /// 2. The value is consistent.
    unsafe fn free_in_child(&self);
}

impl<T, const RANK: LockRank> ForkLock for Lock<T, RANK> {
    fn rank(&self) -> LockRank {
        RANK
    }

    fn try_hold(&self) -> bool {
        self.try_lock().map(core::mem::forget).is_some()
    }

    unsafe fn let_go(&self) {
        drop(LockGuard { lock: self });
    }

    unsafe fn free_in_child(&self) {
        self.word.store(FREE, Ordering::Relaxed);
    }
}

/// Access to a locked value; dropping it frees the lock.
pub struct LockGuard<'a, T, const RANK: LockRank> {
    lock: &'a Lock<T, RANK>,
}

impl<T, const RANK: LockRank> Deref for LockGuard<'_, T, RANK> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread holds the lock.
        unsafe { &*self.lock.value() }
    }
}

impl<T, const RANK: LockRank> DerefMut for LockGuard<'_, T, RANK> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for deref, and the borrow of the guard is exclusive.
        unsafe { &mut *self.lock.value() }
    }
}

impl<T, const RANK: LockRank> Drop for LockGuard<'_, T, RANK> {
    fn drop(&mut self) {
        lock_order::release(RANK);
        if self.lock.word.swap(FREE, Ordering::Release) == CONTENDED {
            sync::wake(&self.lock.word, 1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::threads::lock_order::UNORDERED;
    use std::sync::Arc;

    #[test]
    fn counts_from_many_threads_add_up() {
        let lock = Arc::new(Lock::<_, UNORDERED>::new(0u64));
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
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::threads::lock_order::UNORDERED;
    use loom::sync::Arc;

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let lock = Arc::new(Lock::<_, UNORDERED>::new(0));
            let theirs = lock.clone();
            let thread = loom::thread::spawn(move || {
                *theirs.lock() += 1;
                *theirs.lock() += 1;
            });
            *lock.lock() += 1;
            // A failed attempt has changed nothing.
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
