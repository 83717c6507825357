//! The document's two locks, built from its description. D's collector locked a *monitor*: every object has a pointer
//! to one, which is made when the object is first locked, and virtual calls lock the mutex in it. The document replaced
//! it by that *recursive mutex* itself, of a final class, so that the calls are direct. Both use the C library's
//! recursive mutex: a thread that holds it may lock it again.

use super::locks::Lock;
use heapwood::Mutator;
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C library's recursive mutex, in a box, since it must not move.
pub(super) struct Recursive(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a mutex of the C library is for all threads.
unsafe impl Sync for Recursive {}
// SAFETY: the mutex does not move with its box.
unsafe impl Send for Recursive {}

impl Default for Recursive {
    fn default() -> Self {
        let place = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: the attributes are initialised before use, and no other thread has the mutex yet.
        unsafe {
            let mut attributes = std::mem::zeroed::<libc::pthread_mutexattr_t>();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
            libc::pthread_mutex_init(place.get(), &attributes);
            libc::pthread_mutexattr_destroy(&mut attributes);
        }
        Recursive(place)
    }
}

impl Recursive {
    #[inline(always)]
    fn try_lock(&self) -> bool {
        // SAFETY: the mutex is initialised, and does not move.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) == 0 }
    }

    fn lock(&self) {
        // SAFETY: as above.
        let result = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        assert_eq!(result, 0, "a recursive mutex can be locked");
    }

    #[inline(always)]
    fn unlock(&self) {
        // SAFETY: as above; the caller holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl Drop for Recursive {
    fn drop(&mut self) {
        // SAFETY: no thread holds it, since no reference to it is left.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

impl Lock for Recursive {
    const NAME: &'static str = "recursive";

    #[inline(always)]
    fn with<R>(&self, m: &Mutator, f: impl FnOnce() -> R) -> R {
        if !self.try_lock() {
            m.blocking(|| self.lock());
        }
        let result = f();
        self.unlock();
        result
    }
}

/// The virtual methods of a monitor's mutex.
trait Methods: Sync {
    fn try_lock(&self) -> bool;
    fn lock(&self);
    fn unlock(&self);
}

impl Methods for Recursive {
    fn try_lock(&self) -> bool {
        self.try_lock()
    }

    fn lock(&self) {
        self.lock();
    }

    fn unlock(&self) {
        self.unlock();
    }
}

/// The monitor that an object's word points to.
struct MonitorMutex {
    mutex: Box<dyn Methods>,
}

/// An object with a word for a monitor, as every class instance in D has.
#[derive(Default)]
pub(super) struct Monitor {
    inside: AtomicPtr<MonitorMutex>,
}

impl Monitor {
    /// The monitor, made on first use.
    #[inline(always)]
    fn inside(&self) -> &MonitorMutex {
        let mut found = self.inside.load(Ordering::Acquire);
        if found.is_null() {
            found = self.make();
        }
        // SAFETY: it is made once, and freed with the object.
        unsafe { &*found }
    }

    #[cold]
    #[inline(never)]
    fn make(&self) -> *mut MonitorMutex {
        // Hides the type from the compiler, so that the calls stay virtual.
        let mutex: Box<dyn Methods> = black_box(Box::new(Recursive::default()));
        let made = Box::into_raw(Box::new(MonitorMutex { mutex }));
        match self.inside.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made,
            Err(others) => {
                // SAFETY: made just now, and not shared.
                drop(unsafe { Box::from_raw(made) });
                others
            }
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let inside = *self.inside.get_mut();
        if !inside.is_null() {
            // SAFETY: it came from a box, and no reference to it is left.
            drop(unsafe { Box::from_raw(inside) });
        }
    }
}

impl Lock for Monitor {
    const NAME: &'static str = "monitor";

    #[inline(always)]
    fn with<R>(&self, m: &Mutator, f: impl FnOnce() -> R) -> R {
        if !self.inside().mutex.try_lock() {
            m.blocking(|| self.inside().mutex.lock());
        }
        let result = f();
        // The D compiler's code at the end of a synchronized block looks it up again, too.
        self.inside().mutex.unlock();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood::{Config, Heap};

    #[test]
    fn the_holder_can_lock_both_again() {
        // SAFETY: no object is allocated.
        let heap = unsafe { Heap::new(Config::DEFAULT) }.unwrap();
        let m = heap.attach().unwrap();
        let (monitor, recursive) = (Monitor::default(), Recursive::default());
        assert_eq!(monitor.with(&m, || monitor.with(&m, || 7)), 7);
        assert_eq!(recursive.with(&m, || recursive.with(&m, || 8)), 8);
        std::thread::scope(|scope| {
            recursive.with(&m, || {
                assert!(!scope.spawn(|| recursive.try_lock()).join().unwrap(), "another thread cannot");
            });
        });
    }

    #[test]
    fn a_monitor_is_made_when_it_is_first_locked() {
        // SAFETY: no object is allocated.
        let heap = unsafe { Heap::new(Config::DEFAULT) }.unwrap();
        let m = heap.attach().unwrap();
        let monitor = Monitor::default();
        assert!(monitor.inside.load(Ordering::Relaxed).is_null());
        monitor.with(&m, || ());
        let made = monitor.inside.load(Ordering::Relaxed);
        monitor.with(&m, || ());
        assert!(!made.is_null() && monitor.inside.load(Ordering::Relaxed) == made);
    }
}
