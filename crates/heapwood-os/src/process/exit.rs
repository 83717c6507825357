//! Functions that run when the process exits. Invariant: each runs once, on the thread that exits, but not if the
//! process is killed or ends by `_exit`.

/// Registers `f` to run when the process exits; false if there is no memory.
pub fn at_exit(f: extern "C" fn()) -> bool {
    // SAFETY: the function takes no arguments, and exists as long as this code: when a library is unloaded, its
    // functions run first.
    unsafe { libc::atexit(f) == 0 }
}
