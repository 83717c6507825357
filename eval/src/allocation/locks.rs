//! The locks around an allocation. Invariant: a thread that waits for a lock is in a blocking region, or polls: the
//! holder may be collecting, and would wait for it.

use heapwood::Mutator;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// A lock around an allocation.
pub(super) trait Lock: Default + Sync {
    /// Its name.
    const NAME: &'static str;
    /// The largest number of threads that it is correct for.
    const THREADS: usize = usize::MAX;

    /// Runs `f` while the calling thread, with the mutator `m`, holds the lock.
    fn with<R>(&self, m: &Mutator, f: impl FnOnce() -> R) -> R;
}

/// No lock, as the document has for a program of one thread.
#[derive(Default)]
pub(super) struct Unlocked;

impl Lock for Unlocked {
    const NAME: &'static str = "none";
    const THREADS: usize = 1;

    #[inline(always)]
    fn with<R>(&self, _: &Mutator, f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// No lock, since the run of cells belongs to the thread: the document's goal. On one thread it equals [`Unlocked`];
/// the difference of the two is noise.
#[derive(Default)]
pub(super) struct Owned;

impl Lock for Owned {
    const NAME: &'static str = "owned";

    #[inline(always)]
    fn with<R>(&self, _: &Mutator, f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// The standard library's mutex: one word, a futex where it is contended.
#[derive(Default)]
pub(super) struct Exclusive(Mutex<()>);

impl Exclusive {
    #[cold]
    #[inline(never)]
    fn wait(&self, m: &Mutator) -> MutexGuard<'_, ()> {
        m.blocking(|| self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Lock for Exclusive {
    const NAME: &'static str = "mutex";

    #[inline(always)]
    fn with<R>(&self, m: &Mutator, f: impl FnOnce() -> R) -> R {
        let _guard = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(_) => self.wait(m),
        };
        f()
    }
}

/// A spin lock, on its own cache line. After many tries a thread yields: there may be more threads than cores.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Spin(AtomicBool);

impl Spin {
    const LOOKS: u32 = 100;

    #[cold]
    #[inline(never)]
    fn wait(&self, m: &Mutator) {
        let mut looks = 0;
        while self.0.swap(true, Ordering::Acquire) {
            while self.0.load(Ordering::Relaxed) {
                m.safepoint();
                looks += 1;
                if looks % Self::LOOKS == 0 { std::thread::yield_now() } else { spin_loop() }
            }
        }
    }
}

impl Lock for Spin {
    const NAME: &'static str = "spin";

    #[inline(always)]
    fn with<R>(&self, m: &Mutator, f: impl FnOnce() -> R) -> R {
        if self.0.swap(true, Ordering::Acquire) {
            self.wait(m);
        }
        let result = f();
        self.0.store(false, Ordering::Release);
        result
    }
}

/// The reader's side of the standard library's reader-writer lock: allocations exclude only a collector, which would be
/// the writer. Here is no writer, because the heap's own protocol stops the threads. So this is a lower bound of the
/// reader's cost.
#[derive(Default)]
pub(super) struct ReadersSide(RwLock<()>);

impl ReadersSide {
    #[cold]
    #[inline(never)]
    fn wait(&self, m: &Mutator) -> RwLockReadGuard<'_, ()> {
        m.blocking(|| self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Lock for ReadersSide {
    const NAME: &'static str = "reader";

    #[inline(always)]
    fn with<R>(&self, m: &Mutator, f: impl FnOnce() -> R) -> R {
        let _guard = match self.0.try_read() {
            Ok(guard) => guard,
            Err(_) => self.wait(m),
        };
        f()
    }
}

#[cfg(test)]
mod tests {
    use super::super::WAYS;
    use super::super::recursive::{Monitor, Recursive};
    use super::*;
    use heapwood::{Config, Heap};
    use std::cell::UnsafeCell;

    /// A counter that is only correct with a lock.
    struct Counter<L>(L, UnsafeCell<u64>);

    // SAFETY: the lock under test protects it. Without a lock the count would be wrong.
    unsafe impl<L: Lock> Sync for Counter<L> {}

    const STEPS: u64 = 20_000;

    fn excludes<L: Lock>() {
        // SAFETY: objects are kept on the stacks of attached threads only.
        let heap = unsafe { Heap::new(Config::DEFAULT.min_heap(1 << 20).huge_pages(false)) }.unwrap();
        let counter = Counter(L::default(), UnsafeCell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (m, counter) = (heap.attach().unwrap(), &counter);
                    for _ in 0..STEPS {
                        // The holder may collect. The waiting threads must not delay it.
                        counter.0.with(&m, || {
                            // SAFETY: this thread holds the lock.
                            let count = unsafe { counter.1.get().read_volatile() };
                            m.alloc([count; 8]);
                            // SAFETY: as above.
                            unsafe { counter.1.get().write_volatile(count + 1) };
                        });
                    }
                });
            }
        });
        assert_eq!(counter.1.into_inner(), 4 * STEPS, "{}", L::NAME);
        assert!(heap.stats().collections > 1, "{}", L::NAME);
    }

    #[test]
    fn locks_exclude_and_let_the_holder_collect() {
        excludes::<Exclusive>();
        excludes::<Spin>();
        excludes::<Monitor>();
        excludes::<Recursive>();
    }

    #[test]
    fn readers_do_not_exclude_each_other() {
        // SAFETY: no object is allocated.
        let heap = unsafe { Heap::new(Config::DEFAULT) }.unwrap();
        let m = heap.attach().unwrap();
        let lock = ReadersSide::default();
        assert!(lock.with(&m, || lock.0.try_read().is_ok() && lock.0.try_write().is_err()));
        assert!(lock.0.try_write().is_ok());
    }

    #[test]
    fn the_names_are_different() {
        for (k, way) in WAYS.iter().enumerate() {
            assert!(WAYS[..k].iter().all(|other| other.name != way.name));
        }
    }
}
