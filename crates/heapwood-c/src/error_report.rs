//! An error as C gets it: a status and a sentence, in a buffer of fixed size, since there may be no memory for another.
//! Invariant: the text ends with a zero byte.

use crate::error::Error;
use crate::status::Status;
use core::fmt::{self, Write};

/// The header's `hw_error`.
#[repr(C)]
pub struct ErrorReport {
    status: Status,
    text: [u8; 252],
}

impl ErrorReport {
    /// No error.
    pub const NONE: ErrorReport = ErrorReport { status: Status::OK, text: [0; 252] };

    /// The report of an error.
    pub fn of(error: &Error) -> ErrorReport {
        ErrorReport::new(error.status(), error)
    }

    fn new(status: Status, text: impl fmt::Display) -> ErrorReport {
        struct Writer<'a> {
            to: &'a mut [u8],
            len: usize,
        }
        impl Write for Writer<'_> {
            fn write_str(&mut self, s: &str) -> fmt::Result {
                let mut n = s.len().min(self.to.len() - self.len);
                while !s.is_char_boundary(n) {
                    n -= 1;
                }
                self.to[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
                self.len += n;
                if n < s.len() { Err(fmt::Error) } else { Ok(()) }
            }
        }
        let mut report = ErrorReport { status, ..ErrorReport::NONE };
        // The last byte stays zero. A text that is too long is cut.
        let end = report.text.len() - 1;
        let _ = write!(Writer { to: &mut report.text[..end], len: 0 }, "{text}");
        report
    }

    /// Reports a result: returns the status, and writes the reason to `*why` unless that is NULL.
    ///
    /// # Safety
    /// 1. `why` is NULL or may be written.
    pub unsafe fn tell(result: Result<(), Error>, why: *mut ErrorReport) -> Status {
        let report = match result {
            Ok(()) => ErrorReport::NONE,
            Err(error) => ErrorReport::of(&error),
        };
        let status = report.status;
        if !why.is_null() {
            // SAFETY: contract 1.
            unsafe { why.write(report) };
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::CStr;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let f = ErrorReport::new(Status::EINVAL, format_args!("{}{}", "é".repeat(100), "é".repeat(100)));
        let text = CStr::from_bytes_until_nul(&f.text).unwrap().to_str().unwrap();
        assert_eq!(text, "é".repeat(125));
    }
}
