//! A word that each thread has for itself, and a function that is called with it as a thread exits: a key of the C
//! library's. Invariant: the key is made once, by the first thread that stores a word, and stays.

use crate::error::ThreadValueError;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

/// A word a thread, null at first. A library's owner of one must stay mapped: `at_exit` is called when threads end.
pub struct ThreadValue {
    /// The key, plus one; 0 until there is one.
    key: AtomicU64,
    at_exit: unsafe extern "C" fn(*mut c_void),
}

impl ThreadValue {
    /// A word that `at_exit` is called with if it is not null when its thread exits; by then it is null.
    ///
    /// # Safety
    /// 1. `at_exit` may be called with every word that is stored, on the thread that stored it.
    pub const unsafe fn new(at_exit: unsafe extern "C" fn(*mut c_void)) -> Self {
        ThreadValue { key: AtomicU64::new(0), at_exit }
    }

    fn key(&self) -> Option<libc::pthread_key_t> {
        (self.key.load(Ordering::Acquire) as u32).checked_sub(1)
    }

    fn make_key(&self) -> Result<libc::pthread_key_t, ThreadValueError> {
        if let Some(key) = self.key() {
            return Ok(key);
        }
        let mut made = 0;
        // SAFETY: the function may be called with the values that the key gets (contract of `new`).
        if unsafe { libc::pthread_key_create(&mut made, Some(self.at_exit)) } != 0 {
            return Err(ThreadValueError);
        }
        match self.key.compare_exchange(0, u64::from(made) + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(made),
            Err(other) => {
                // SAFETY: nobody else has seen this key.
                unsafe { libc::pthread_key_delete(made) };
                Ok(other as u32 - 1)
            }
        }
    }

    /// The calling thread's word.
    pub fn get(&self) -> *mut c_void {
        match self.key() {
            // SAFETY: the key exists.
            Some(key) => unsafe { libc::pthread_getspecific(key) },
            None => core::ptr::null_mut(),
        }
    }

    /// Stores the calling thread's word. Where there has been one since the thread began, this needs no memory.
    ///
    /// # Errors
    /// The process has no key left, or the C library no memory.
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "the C library keeps the word and does not follow it")]
    pub fn set(&self, value: *mut c_void) -> Result<(), ThreadValueError> {
        let key = self.make_key()?;
        // SAFETY: the key exists.
        match unsafe { libc::pthread_setspecific(key, value) } {
            0 => Ok(()),
            _ => Err(ThreadValueError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static ENDED: AtomicU64 = AtomicU64::new(0);
    // SAFETY: `note` takes any word.
    static VALUE: ThreadValue = unsafe { ThreadValue::new(note) };

    unsafe extern "C" fn note(value: *mut c_void) {
        assert!(VALUE.get().is_null());
        ENDED.fetch_add(value as u64, Ordering::SeqCst);
    }

    #[test]
    fn each_thread_has_its_own_and_tells_when_it_ends() {
        assert!(VALUE.get().is_null());
        let threads: Vec<_> = (1..=4usize)
            .map(|n| {
                std::thread::spawn(move || {
                    VALUE.set(n as *mut c_void).unwrap();
                    assert_eq!(VALUE.get() as usize, n);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(VALUE.get().is_null());
        assert_eq!(ENDED.load(Ordering::SeqCst), 10);
    }
}
