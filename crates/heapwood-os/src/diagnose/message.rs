//! Writing to standard error without allocation: text is formatted into a fixed buffer, and written by `write(2)` in
//! one piece. Invariant: text that does not fit is cut.

use crate::process::file::write;
use core::fmt::{self, Write};

/// A message under construction.
pub struct Message {
    text: [u8; 512],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Message { text: [0; 512], len: 0 }
    }
}

impl Write for Message {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let n = s.len().min(self.text.len() - self.len);
        self.text[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Writes `text` and a line end to standard error.
pub fn write_line(text: fmt::Arguments<'_>) {
    let mut message = Message::new();
    let _ = message.write_fmt(text);
    message.len = message.len.min(message.text.len() - 1);
    message.text[message.len] = b'\n';
    write(libc::STDERR_FILENO, &message.text[..=message.len]);
}

/// Reports a corrupt heap and aborts the process, since a corrupt heap must not be used any further.
#[cold]
pub fn corrupt(text: fmt::Arguments<'_>) -> ! {
    write_line(format_args!("heapwood: heap corruption: {text}"));
    // SAFETY: abort takes no arguments and does not return.
    unsafe { libc::abort() }
}
