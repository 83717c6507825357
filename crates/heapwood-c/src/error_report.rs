//! What C is told of a refusal: a status and a sentence, in a buffer of fixed size, since there may be no memory for another.
//! Invariant: the text ends with a zero byte. A text that is too long ends with its last whole word and `..`.

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
        // The last byte stays zero.
        let end = report.text.len() - 1;
        if write!(Writer { to: &mut report.text[..end], len: 0 }, "{text}").is_err() {
            shorten(&mut report.text[..end]);
        }
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

/// What ends a text that was cut.
const CUT: &[u8] = b"..";

/// Ends a text that was cut with its last whole word, if it has spaces, and [`CUT`].
fn shorten(text: &mut [u8]) {
    let most = text.len() - CUT.len();
    let is_boundary = |&at: &usize| text[at] & 0xC0 != 0x80;
    let word = (1..=most).rev().find(|&at| text[at] == b' ');
    let mut end = word.or_else(|| (0..=most).rev().find(is_boundary)).unwrap_or(0);
    while end > 0 && matches!(text[end - 1], b' ' | b',' | b';' | b':') {
        end -= 1;
    }
    text[end..].fill(0);
    text[end..end + CUT.len()].copy_from_slice(CUT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::CStr;
    use heapwood_gc::AllocError;
    use heapwood_heap::ArenaBytes;

    fn shown(text: impl fmt::Display) -> String {
        let report = ErrorReport::new(Status::EINVAL, text);
        CStr::from_bytes_until_nul(&report.text).unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn long_texts_are_cut_between_words() {
        assert_eq!(shown("a".repeat(251)), "a".repeat(251));
        assert_eq!(shown("a".repeat(252)), "a".repeat(249) + "..");
        assert_eq!(shown("é".repeat(126)), "é".repeat(124) + "..");
        assert_eq!(shown(format_args!("{}, {}", "é".repeat(100), "é".repeat(100))), "é".repeat(100) + "..");
        assert_eq!(shown("word ".repeat(60)), "word ".repeat(49) + "word..");
        for len in 240..260 {
            let text = shown("a bé, ".repeat(40).get(..len).unwrap_or(&"x".repeat(len)));
            assert!(text.len() <= 251 && text.starts_with(['a', 'x']), "{text}");
        }
    }

    /// The longest texts: no room, where arenas have much of it. What is cut is the advice on freed arenas.
    #[test]
    fn the_longest_refusal_has_its_next_step() {
        let number = 123 << 32;
        let arenas = ArenaBytes { in_use: number, quarantined: number, ..ArenaBytes::default() };
        let limit =
            |arenas, external| AllocError::Limit { bytes: 64, limit: number, live: number, arenas, external };
        let memory = |arenas| AllocError::Memory { bytes: 64, most: number, live: number, arenas };
        let none = ArenaBytes::default();
        let limits = [limit(none, 0), limit(none, number), limit(arenas, 0), limit(arenas, number)];
        for error in limits.into_iter().chain([memory(none), memory(arenas)]) {
            let (whole, text) = (error.to_string(), shown(error));
            println!("{} bytes: {text}", whole.len());
            assert!(text.contains(" or keep less alive"), "{text}");
            match text.strip_suffix("..") {
                None => assert_eq!(text, whole),
                Some(start) => assert!(whole[start.len()..].starts_with([' ', ',', ';', ':']), "{text}"),
            }
        }
    }
}
