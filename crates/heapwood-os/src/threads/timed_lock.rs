//! A lock that records its longest and its total hold time: an upper bound of what other threads waited. Times are
//! read in ticks of the processor's counter, which costs a few nanoseconds, and converted by a [`TickClock`].
//! Invariant: only the holder of the lock writes the times.

use crate::threads::lock::{ForkLock, Lock, LockGuard};
use crate::threads::lock_order::LockRank;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU64, Ordering};

/// The processor's counter, which has a constant rate and is synchronised across processors.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the counter.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: user programs may read the virtual counter on Linux.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

/// The rate of the counter, measured since this clock was started.
#[derive(Clone, Copy, Debug)]
pub struct TickClock {
    ticks: u64,
    ns: u64,
}

impl TickClock {
    /// Starts the measurement.
    pub fn start() -> Self {
        TickClock { ticks: ticks(), ns: crate::process::clock::monotonic_ns() }
    }

    /// Converts ticks to nanoseconds.
    pub fn ns(&self, count: u64) -> u64 {
        let passed = ticks().wrapping_sub(self.ticks).max(1);
        let ns = crate::process::clock::monotonic_ns() - self.ns;
        (count as u128 * ns as u128 / passed as u128) as u64
    }
}

/// A mutual exclusion lock around a value that knows how long it was held.
pub struct TimedLock<T, const RANK: LockRank> {
    lock: Lock<T, RANK>,
    longest: AtomicU64,
    total: AtomicU64,
}

impl<T, const RANK: LockRank> TimedLock<T, RANK> {
    /// A free lock around `value`.
    pub fn new(value: T) -> Self {
        TimedLock { lock: Lock::new(value), longest: AtomicU64::new(0), total: AtomicU64::new(0) }
    }

    /// Waits until the lock is free and takes it.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn lock(&self) -> TimedGuard<'_, T, RANK> {
        let guard = self.lock.lock();
        TimedGuard { since: ticks(), guard, longest: &self.longest, total: &self.total }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<TimedGuard<'_, T, RANK>> {
        let guard = self.lock.try_lock()?;
        Some(TimedGuard { since: ticks(), guard, longest: &self.longest, total: &self.total })
    }

    /// As [`Lock::held`].
    ///
    /// # Safety
    /// 1. As there.
    pub unsafe fn held(&self) -> &T {
        // SAFETY: contract 1.
        unsafe { self.lock.held() }
    }

    /// The value, through exclusive access to the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.lock.get_mut()
    }

    /// The longest time that the lock was held, in [`ticks`].
    pub fn longest_hold(&self) -> u64 {
        self.longest.load(Ordering::Relaxed)
    }

    /// The total time that the lock was held, in [`ticks`].
    pub fn total_hold(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

/// The time that it is held for a fork is nobody's work, and not counted.
impl<T, const RANK: LockRank> ForkLock for TimedLock<T, RANK> {
    fn rank(&self) -> LockRank {
        RANK
    }

    fn try_hold(&self) -> bool {
        self.lock.try_hold()
    }

    unsafe fn let_go(&self) {
        // SAFETY: the caller's contract.
        unsafe { self.lock.let_go() };
    }

    unsafe fn free_in_child(&self) {
        // SAFETY: the caller's contract.
        unsafe { self.lock.free_in_child() };
    }
}

/// Access to a locked value; dropping it frees the lock.
pub struct TimedGuard<'a, T, const RANK: LockRank> {
    since: u64,
    guard: LockGuard<'a, T, RANK>,
    longest: &'a AtomicU64,
    total: &'a AtomicU64,
}

impl<T, const RANK: LockRank> Deref for TimedGuard<'_, T, RANK> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T, const RANK: LockRank> DerefMut for TimedGuard<'_, T, RANK> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T, const RANK: LockRank> Drop for TimedGuard<'_, T, RANK> {
    #[inline]
    fn drop(&mut self) {
        // The lock is held until the guard is dropped, after this.
        let held = ticks().wrapping_sub(self.since);
        self.total.store(self.total.load(Ordering::Relaxed).wrapping_add(held), Ordering::Relaxed);
        if held > self.longest.load(Ordering::Relaxed) && held < 1 << 63 {
            self.longest.store(held, Ordering::Relaxed);
        }
    }
}
