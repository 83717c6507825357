//! Writing to standard error without allocating: text is formatted into a fixed buffer and handed to `write(2)`
//! when the message ends. What does not fit is cut.

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
    // SAFETY: the buffer is initialised and longer than the message.
    unsafe { libc::write(2, message.text.as_ptr().cast(), message.len + 1) };
}

/// Writes what is corrupt and ends the process: a heap that is known to be wrong must not be used further.
#[cold]
pub fn corrupt(text: fmt::Arguments<'_>) -> ! {
    write_line(format_args!("heapwood: heap corruption: {text}"));
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}
