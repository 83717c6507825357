//! Why the system did not do what it was asked. Invariant: an error holds all that its message says. The limits that a
//! refusal may have met are looked up when it is made, by system calls that allocate nothing; printing it makes none.

use crate::memory::limits::Limits;
use crate::memory::request::Request;
use core::fmt;

/// A refusal: what was asked for, how many bytes, the kernel's error number, and the limits that were set then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsError {
    /// What was asked.
    pub request: Request,
    /// How much was asked for.
    pub bytes: usize,
    /// The kernel's `errno`.
    pub errno: i32,
    limits: Limits,
}

// Errors are returned by value, next to what was asked for.
const _: () = assert!(size_of::<OsError>() <= 32);

impl OsError {
    /// A refusal of now.
    #[cold]
    pub fn new(request: Request, bytes: usize, errno: i32) -> Self {
        let limits = if is_shortage(errno) { Limits::of(request) } else { Limits::NONE };
        OsError { request, bytes, errno, limits }
    }
}

/// Whether a limit may be the reason.
fn is_shortage(errno: i32) -> bool {
    errno == libc::ENOMEM || errno == libc::EAGAIN
}

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.request {
            Request::Signal => {
                return write!(
                    f,
                    "the kernel refused a handler of signal {} (errno {})",
                    self.bytes, self.errno
                );
            }
            Request::Reserve => "reserve",
            Request::Commit => "commit",
            Request::Decommit => "release",
            Request::Thread => "start a thread with a stack of",
        };
        write!(f, "the kernel refused to {what} {} bytes (errno {})", self.bytes, self.errno)?;
        if is_shortage(self.errno) {
            write!(f, ": ")?;
            self.limits.explain(self.request, f)?;
        }
        Ok(())
    }
}

impl core::error::Error for OsError {}

/// The process has no key for thread-local values left, or no memory for another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadValueError;

impl fmt::Display for ThreadValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the process has no thread-specific key (PTHREAD_KEYS_MAX) or no memory for its value left: use fewer \
             libraries that make such keys, or raise the process's memory limit"
        )
    }
}

impl core::error::Error for ThreadValueError {}
