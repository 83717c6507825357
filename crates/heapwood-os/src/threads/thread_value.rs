//! A thread-local word with a destructor: a pthread key. Invariant: the first thread that stores a word creates the
//! key, which is never deleted.

use crate::error::ThreadValueError;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

/// One word for each thread, null at first. A library that owns one must stay mapped, because `at_exit` is called when
/// threads exit.
pub struct ThreadValue {
    /// The key plus one; 0 before it is created.
    key: AtomicU64,
    at_exit: unsafe extern "C" fn(*mut c_void),
}

impl ThreadValue {
    /// A word for each thread. If it is not null when a thread exits, it is set to null and `at_exit` is called with
    /// it.
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
        // SAFETY: the function may be called with the values of the key (contract of `new`).
        if unsafe { libc::pthread_key_create(&mut made, Some(self.at_exit)) } != 0 {
            return Err(ThreadValueError);
        }
        match self.key.compare_exchange(0, u64::from(made) + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(made),
            Err(other) => {
                // SAFETY: no other thread has seen this key.
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

    /// Stores the calling thread's word. This needs no memory if the thread has stored a word before.
    ///
    /// # Errors
    /// The process has no free key, or the C library no memory.
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
