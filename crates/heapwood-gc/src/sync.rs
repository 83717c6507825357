//! The atomics and the futex wait of the stop protocol, or loom's in their place, so that the model checks the
//! product's own code.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use heapwood_os::lock::{wait, wait_for, wake};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, Ordering, fence};

/// Under loom a wait is a turn for the others: the loops around every wait make that a faithful, weaker futex.
#[cfg(loom)]
pub(crate) fn wait(word: &AtomicU32, expected: u32) {
    if word.load(Ordering::SeqCst) == expected {
        loom::thread::yield_now();
    }
}

#[cfg(loom)]
pub(crate) fn wait_for(word: &AtomicU32, expected: u32, _: core::time::Duration) {
    wait(word, expected);
}

#[cfg(loom)]
pub(crate) fn wake(_: &AtomicU32, _: i32) {}
