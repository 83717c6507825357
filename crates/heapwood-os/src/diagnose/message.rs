//! Writing to standard error without allocation: text is formatted into a fixed buffer, and written by `write(2)` in
//! one piece. What is said of a mistake, a report, goes to a function of the program, too. Invariant: text that does not fit is cut.

use crate::process::file::write;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicPtr, Ordering};

/// Takes a report: a line without its end, behind which lies a zero byte.
pub type ReportHook = fn(&str);

/// The [`ReportHook`] of the process: many reports are of no heap.
static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Has a function called with each report of the process, after it was written to standard error, in place of the function before:
/// with what heaps in verify mode find, and with what is said of a corrupt heap before the process ends.
///
/// It is called on any thread, in the middle of a collection, too, and from the handler of a fault. So it is brief, waits for nobody,
/// and uses no heap. If it panics the process ends.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// static REPORTS: AtomicUsize = AtomicUsize::new(0);
/// heapwood_os::diagnose::message::on_report(Some(|_text| {
///     REPORTS.fetch_add(1, Relaxed);
/// }));
/// heapwood_os::diagnose::message::report(format_args!("a test"));
/// assert_eq!(REPORTS.load(Relaxed), 1);
/// ```
pub fn on_report(hook: Option<ReportHook>) {
    HOOK.store(hook.map_or(core::ptr::null_mut(), |hook| hook as *mut ()), Ordering::Release);
}

/// A message under construction.
pub struct Message {
    text: [u8; 512],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Message { text: [0; 512], len: 0 }
    }

    /// The text, with room for a line end, and a zero byte behind it.
    fn of(text: fmt::Arguments<'_>) -> Self {
        let mut message = Message::new();
        let _ = message.write_fmt(text);
        message.len = message.len.min(message.text.len() - 2);
        // No part of a character.
        message.len =
            core::str::from_utf8(&message.text[..message.len]).map_or_else(|e| e.valid_up_to(), str::len);
        message.text[message.len..].fill(0);
        message
    }

    fn write_line(&mut self) {
        self.text[self.len] = b'\n';
        write(libc::STDERR_FILENO, &self.text[..=self.len]);
        self.text[self.len] = 0;
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.text[..self.len]).unwrap_or_default()
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
    Message::of(text).write_line();
}

/// Reports a mistake of the program: `text` is the whole line.
#[cold]
pub fn report(text: fmt::Arguments<'_>) {
    let mut message = Message::of(text);
    message.write_line();
    let hook = HOOK.load(Ordering::Acquire);
    if !hook.is_null() {
        // SAFETY: `on_report` stores nothing but such functions.
        let hook = unsafe { core::mem::transmute::<*mut (), ReportHook>(hook) };
        call(hook, message.as_str());
    }
}

/// Calls it; a panic in it ends the process, for nothing unwinds through a collection.
#[expect(improper_ctypes_definitions, reason = "it is not called from C")]
extern "C" fn call(hook: ReportHook, text: &str) {
    hook(text);
}

/// Reports a corrupt heap and aborts the process, since a corrupt heap must not be used any further.
#[cold]
pub fn corrupt(text: fmt::Arguments<'_>) -> ! {
    report(format_args!("heapwood: heap corruption: {text}"));
    end()
}

/// Aborts the process, after a report.
#[cold]
pub fn end() -> ! {
    // SAFETY: abort takes no arguments and does not return.
    unsafe { libc::abort() }
}
