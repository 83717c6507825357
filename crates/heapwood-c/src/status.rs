//! Outcomes. A function that refuses says so with a status and a sentence; the sentence is written into a buffer
//! of fixed size, since there may be no memory for another. Invariant: the text ends with a zero byte.

use crate::refusal::Refusal;
use core::ffi::{CStr, c_char};
use core::fmt::{self, Write};

/// The header's `hw_status`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub i32);

impl Status {
    /// Done.
    pub const OK: Status = Status(0);
    /// The system gave no memory.
    pub const ENOMEM: Status = Status(-1);
    /// The heap's limit or address range has no room left.
    pub const ELIMIT: Status = Status(-2);
    /// An argument is wrong.
    pub const EINVAL: Status = Status(-3);
    /// A type's description is wrong.
    pub const EDESC: Status = Status(-4);
    /// Not in this state, or not on this thread.
    pub const ESTATE: Status = Status(-5);
    /// The system does not tell what is needed.
    pub const ENOSYS: Status = Status(-7);
    /// A table of the heap is full.
    pub const EFULL: Status = Status(-10);

    /// Its name and meaning.
    pub fn text(self) -> &'static CStr {
        match self {
            Status::OK => c"HW_OK: done",
            Status::ENOMEM => c"HW_ENOMEM: the system gave no memory",
            Status::ELIMIT => c"HW_ELIMIT: the heap's limit, its address range, or what the process's memory leaves it has no room left",
            Status::EINVAL => c"HW_EINVAL: an argument is wrong",
            Status::EDESC => c"HW_EDESC: a type's description is wrong",
            Status::ESTATE => c"HW_ESTATE: not in this state, or not on this thread",
            Status::ENOSYS => c"HW_ENOSYS: the system does not tell what is needed, or its pages are too large",
            Status::EFULL => c"HW_EFULL: a table of the heap is full",
            _ => c"not a status of Heapwood",
        }
    }
}

/// The header's `hw_error`.
#[repr(C)]
pub struct Failure {
    status: Status,
    text: [u8; 252],
}

impl Failure {
    /// Nothing was refused.
    pub const NONE: Failure = Failure { status: Status::OK, text: [0; 252] };

    /// What C is told of a refusal.
    pub fn of(refusal: &Refusal) -> Failure {
        Failure::new(refusal.status(), refusal)
    }

    fn new(status: Status, text: impl fmt::Display) -> Failure {
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
        let mut failure = Failure { status, ..Failure::NONE };
        // The last byte stays zero. A text that is too long is cut.
        let end = failure.text.len() - 1;
        let _ = write!(Writer { to: &mut failure.text[..end], len: 0 }, "{text}");
        failure
    }

    /// Tells the outcome: the status to return, and the reason in `*why` unless that is NULL.
    ///
    /// # Safety
    /// 1. `why` is NULL or may be written.
    pub unsafe fn tell(result: Result<(), Refusal>, why: *mut Failure) -> Status {
        let failure = match result {
            Ok(()) => Failure::NONE,
            Err(refusal) => Failure::of(&refusal),
        };
        let status = failure.status;
        if !why.is_null() {
            // SAFETY: contract 1.
            unsafe { why.write(failure) };
        }
        status
    }
}

/// The name and meaning of a status.
#[unsafe(no_mangle)]
pub extern "C" fn hw_strstatus(status: Status) -> *const c_char {
    status.text().as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let f = Failure::new(Status::EINVAL, format_args!("{}{}", "é".repeat(100), "é".repeat(100)));
        let text = CStr::from_bytes_until_nul(&f.text).unwrap().to_str().unwrap();
        assert_eq!(text, "é".repeat(125));
    }
}
