//! What is to be done when the process exits. Invariant: what was asked for is called once, by the thread that exits; not
//! where the process is killed, or ends by `_exit`.

/// Asks the C library to call `f` when the process exits; false if it cannot.
pub fn at_exit(f: extern "C" fn()) -> bool {
    // SAFETY: the function takes nothing, and is there as long as this code is: a library that is unloaded is called then.
    unsafe { libc::atexit(f) == 0 }
}
