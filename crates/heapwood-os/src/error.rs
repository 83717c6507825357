//! Refusals of the system. The limits that a refusal may have met are read when the error is made, by system calls
//! that do not allocate; printing an error makes none. Invariant: an error holds everything that its message says.

use crate::memory::limits::Limits;
use crate::memory::request::Request;
use core::fmt;

/// A refusal: the request, its size, the kernel's error number, and the limits at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsError {
    /// The kind of request.
    pub request: Request,
    /// The requested bytes.
    pub bytes: usize,
    /// The kernel's `errno`.
    pub errno: i32,
    limits: Limits,
}

// Errors are returned by value, beside large results.
const _: () = assert!(size_of::<OsError>() <= 32);

impl OsError {
    /// A refusal that happened just now.
    #[cold]
    pub fn new(request: Request, bytes: usize, errno: i32) -> Self {
        let limits = if is_shortage(errno) { Limits::of(request) } else { Limits::NONE };
        OsError { request, bytes, errno, limits }
    }
}

/// Whether a limit may be the cause.
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
            Request::LoaderLock => {
                return write!(
                    f,
                    "data of libraries cannot be roots with this C library, whose loader's lock nobody else can hold \
                     (errno {}): use glibc, or register the words that are roots",
                    self.errno
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

/// The process has no free key for thread-local values, or no memory for another value.
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
