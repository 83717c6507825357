//! The document's two locks, rebuilt from its words. Its collector locked a *monitor*: an object of any class has room for a
//! pointer to one, which is made when the object is first locked; behind it a mutex is locked by virtual calls. It took
//! instead the *recursive mutex* that was in there, of a class that nobody can extend, so that the calls are direct. Both
//! are the C library's recursive mutex in the end: a thread that holds it may lock it again.

use super::locks::Lock;
use heapwood::Mutator;
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C library's recursive mutex, in memory of its own, since it must not move.
pub(super) struct Recursive(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a mutex of the C library is for all threads.
unsafe impl Sync for Recursive {}
// SAFETY: it stays where it is when its box moves.
unsafe impl Send for Recursive {}

impl Default for Recursive {
    fn default() -> Self {
        let place = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: the attributes are initialised before they are used, and the mutex is nobody's yet.
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
        // SAFETY: the mutex is initialised, and stays in its place.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) == 0 }
    }

    fn lock(&self) {
        // SAFETY: as above.
        let result = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        assert_eq!(result, 0, "a recursive mutex can be locked");
    }

    #[inline(always)]
    fn unlock(&self) {
        // SAFETY: as above; whoever calls this holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl Drop for Recursive {
    fn drop(&mut self) {
        // SAFETY: nobody holds it, since nobody has a reference to it.
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

/// What a monitor's mutex is called by.
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

/// What an object's word for it leads to.
struct Inside {
    mutex: Box<dyn Methods>,
}

/// An object with room for a monitor, as every object of a class had.
#[derive(Default)]
pub(super) struct Monitor {
    inside: AtomicPtr<Inside>,
}

impl Monitor {
    /// The monitor, made if it is not there yet.
    #[inline(always)]
    fn inside(&self) -> &Inside {
        let mut found = self.inside.load(Ordering::Acquire);
        if found.is_null() {
            found = self.make();
        }
        // SAFETY: it was made once, and goes with the object.
        unsafe { &*found }
    }

    #[cold]
    #[inline(never)]
    fn make(&self) -> *mut Inside {
        // The compiler is not to know whose methods these are.
        let mutex: Box<dyn Methods> = black_box(Box::new(Recursive::default()));
        let made = Box::into_raw(Box::new(Inside { mutex }));
        match self.inside.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made,
            Err(others) => {
                // SAFETY: made just now, and given to nobody.
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
            // SAFETY: it came from a box, and nobody has a reference to it any more.
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
        // As the code that the compiler of D puts at the end of a synchronized block, which looks it up again.
        self.inside().mutex.unlock();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood::{Config, Heap};

    #[test]
    fn both_can_be_locked_again_by_who_holds_them() {
        // SAFETY: no object is made.
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
        // SAFETY: no object is made.
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
