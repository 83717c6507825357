//! Descriptors that count events, for programs whose loops wait for several things (`eventfd(2)`). Invariant: adding to one never
//! blocks.

use core::ffi::c_int;

/// Opens one that is empty, does not block, and is closed by exec.
///
/// # Errors
/// The kernel's error number.
pub fn open() -> Result<c_int, c_int> {
    // SAFETY: the call takes no pointer.
    match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } {
        // SAFETY: __errno_location returns this thread's valid errno slot.
        -1 => Err(unsafe { *libc::__errno_location() }),
        fd => Ok(fd),
    }
}

/// Adds one event; a full one stays full, which its reader sees as well.
pub fn add(fd: c_int) {
    let one = 1u64;
    // SAFETY: the call reads eight bytes of the local.
    unsafe { libc::write(fd, (&raw const one).cast(), size_of::<u64>()) };
}

/// Closes one that nobody uses any more.
pub fn close(fd: c_int) {
    // SAFETY: the call takes no pointer.
    unsafe { libc::close(fd) };
}
