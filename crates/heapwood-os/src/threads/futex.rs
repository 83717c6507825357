//! Linux futexes: threads that sleep until a word changes. Invariant: nothing is allocated, and no state kept but the
//! kernel's queues.

use core::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `expected`; may return for no reason, so callers loop.
pub fn wait(word: &AtomicU32, expected: u32) {
    futex_wait(word, expected, None);
}

/// The same, for at most so long.
pub fn wait_for(word: &AtomicU32, expected: u32, at_most: core::time::Duration) {
    let time = libc::timespec {
        tv_sec: at_most.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: at_most.subsec_nanos() as libc::c_long,
    };
    futex_wait(word, expected, Some(&time));
}

fn futex_wait(word: &AtomicU32, expected: u32, at_most: Option<&libc::timespec>) {
    let time = at_most.map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: the word, and the time if there is one, are valid for the whole call; a futex wait only reads them.
    unsafe {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, time);
    }
}

/// Wakes at most `count` threads that sleep on `word`.
pub fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: a futex wake uses the address only as a key.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}
