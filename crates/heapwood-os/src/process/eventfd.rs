//! Descriptors that count events, for programs whose loops wait for several things (`eventfd(2)`). Invariant: adding to one never
//! blocks.

use super::file;
pub use super::file::close;
use core::ffi::c_int;

/// Opens one that is empty, does not block, and is closed by exec.
///
/// # Errors
/// The kernel's error number.
pub fn open() -> Result<c_int, c_int> {
    // SAFETY: the call takes no pointer.
    match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } {
        -1 => Err(file::error()),
        fd => Ok(fd),
    }
}

/// Adds one event; a full one stays full, which its reader sees as well.
pub fn add(fd: c_int) {
    file::write(fd, &1u64.to_ne_bytes());
}
