//! The locks around an allocation. Invariant: a thread that waits for a lock is in a blocking region: the
//! holder may be collecting, and would wait for it.

use heapwood::Mutator;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

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

/// A mutex as a class of D has it: made when it is first used, behind an indirection, and called virtually.
#[derive(Default)]
pub(super) struct Monitor(OnceLock<Box<dyn Hold>>);

trait Hold: Send + Sync {
    fn hold(&self, m: &Mutator, f: &mut dyn FnMut());
}

impl Hold for Exclusive {
    #[inline(never)]
    fn hold(&self, m: &Mutator, f: &mut dyn FnMut()) {
        self.with(m, f);
    }
}

impl Lock for Monitor {
    const NAME: &'static str = "monitor";

    #[inline(always)]
    fn with<R>(&self, m: &Mutator, f: impl FnOnce() -> R) -> R {
        let (mut f, mut result) = (Some(f), None);
        let lock = self.0.get_or_init(|| Box::new(Exclusive::default()));
        black_box(lock).hold(m, &mut || result = f.take().map(|f| f()));
        result.expect("it was called")
    }
}

#[cfg(test)]
mod tests {
    use super::super::WAYS;
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
        excludes::<Monitor>();
    }

    #[test]
    fn the_names_are_different() {
        for (k, way) in WAYS.iter().enumerate() {
            assert!(WAYS[..k].iter().all(|other| other.name != way.name));
        }
    }
}
