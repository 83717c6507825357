//! Faults in heaps, explained on standard error before the program's own action runs. Invariant: the program's actions are written before
//! the handler that reads them is installed.

use crate::error::HeapError;
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::threads::signal::{self, Action, Handler};

/// The program's actions for faults, before these were explained.
pub(super) struct Faults {
    before: UnsafeCell<[MaybeUninit<Action>; signal::FAULTS.len()]>,
    are_explained: AtomicBool,
}

// SAFETY: `before` is written once, under the lock, before the handler that reads it is installed.
unsafe impl Sync for Faults {}

impl Faults {
    pub(super) const fn new() -> Self {
        Faults {
            before: UnsafeCell::new([MaybeUninit::uninit(); signal::FAULTS.len()]),
            are_explained: AtomicBool::new(false),
        }
    }

    /// Installs a handler, once a process.
    ///
    /// # Errors
    /// The kernel refuses.
    ///
    /// # Safety
    /// 1. No other thread calls this meanwhile.
    /// 2. The handler uses only what one of such a signal may use, and [goes on](Faults::go_on).
    pub(super) unsafe fn explain(&self, handler: Handler) -> Result<(), HeapError> {
        if self.are_explained.load(Ordering::Relaxed) {
            return Ok(());
        }
        for (i, &fault) in signal::FAULTS.iter().enumerate() {
            let before = signal::current(fault)?;
            // SAFETY: contracts 1 and 2; the handler of this signal is not installed yet.
            unsafe {
                (*self.before.get())[i].write(before);
                signal::install(fault, handler)?;
            }
        }
        self.are_explained.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// In the handler: lets the access be made again, and the earlier action run.
    pub(super) fn go_on(&self, signal: c_int) {
        if let Some(i) = signal::FAULTS.iter().position(|&fault| fault == signal) {
            // SAFETY: written before the handler of this signal was installed.
            signal::restore(signal, unsafe { (*self.before.get())[i].assume_init_ref() });
        }
    }
}
