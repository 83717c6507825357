//! Cancellation of threads (`pthread_cancel`). A thread that another has cancelled ends at its next cancellation point: a system
//! call such as open, read, write or a sleep. Inside the collector that would leave locks held and a world stopped. Invariant:
//! whoever in this library calls such a function does it in [`uncancelled`], so the thread ends after the call of the library, at a
//! cancellation point of the program's.

use core::ffi::c_int;
use core::marker::PhantomData;
use core::time::Duration;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// PTHREAD_CANCEL_DISABLE of glibc and musl on Linux.
const DISABLE: c_int = 1;

/// While it exists the thread that has made it is not cancelled.
#[must_use = "the thread may be cancelled once it is dropped"]
pub struct Uncancelled {
    before: c_int,
    /// It is of its thread.
    thread: PhantomData<*mut ()>,
}

impl Uncancelled {
    /// The calling thread is not cancelled from now on.
    pub fn begin() -> Self {
        let mut before = 0;
        // SAFETY: the call writes the old state.
        unsafe { pthread_setcancelstate(DISABLE, &mut before) };
        Uncancelled { before, thread: PhantomData }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: it is a state that the function has returned.
        unsafe { pthread_setcancelstate(self.before, core::ptr::null_mut()) };
    }
}

/// Runs `f`, in which the calling thread is not cancelled.
pub fn uncancelled<R>(f: impl FnOnce() -> R) -> R {
    let _uncancelled = Uncancelled::begin();
    f()
}

/// Sleeps, and is no cancellation point.
pub fn sleep(time: Duration) {
    uncancelled(|| std::thread::sleep(time));
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::c_void;

    unsafe extern "C" fn run(_: *mut c_void) -> *mut c_void {
        // SAFETY: the thread is the calling one; the last call does not return.
        unsafe {
            assert_eq!(libc::pthread_cancel(libc::pthread_self()), 0);
            uncancelled(|| libc::close(-1));
            sleep(Duration::from_nanos(1));
            core::ptr::without_provenance_mut(7)
        }
    }

    #[test]
    fn a_cancelled_thread_goes_on() {
        // SAFETY: the function has the form of one of pthread_create, and the thread is joined.
        unsafe {
            let (mut thread, mut result) = (core::mem::zeroed(), core::ptr::null_mut());
            let run = core::mem::transmute::<
                unsafe extern "C" fn(*mut c_void) -> *mut c_void,
                extern "C" fn(*mut c_void) -> *mut c_void,
            >(run);
            assert_eq!(libc::pthread_create(&mut thread, core::ptr::null(), run, core::ptr::null_mut()), 0);
            assert_eq!(libc::pthread_join(thread, &mut result), 0);
            assert_eq!(result as usize, 7, "PTHREAD_CANCELED is -1");
        }
    }
}
