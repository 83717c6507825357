//! Texts, and where they go: to standard error, or to the file of `GC_LOG_FILE`. Invariant: nothing here allocates but what opens
//! that file.

use core::ffi::{c_char, c_int};
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};
use heapwood_os::process::file;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// Where reports go.
static LOG: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);

/// The most bytes that are written at once.
const TEXT: usize = 1000;

/// A text of some hundred bytes, that ends in a zero.
pub(crate) struct Text {
    bytes: [u8; TEXT],
    len: usize,
}

impl Text {
    pub(crate) fn of(text: fmt::Arguments<'_>) -> Self {
        let mut this = Text { bytes: [0; TEXT], len: 0 };
        let _ = this.write_fmt(text);
        this
    }

    /// Takes out what a format would take for its own.
    pub(crate) fn without_formats(mut self) -> Self {
        self.bytes[..self.len].iter_mut().filter(|byte| **byte == b'%').for_each(|byte| *byte = b'.');
        self
    }

    /// What was written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// A text of C.
    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let n = text.len().min(self.bytes.len() - 1 - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&text.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

pub(crate) fn write(to: c_int, text: &Text) {
    file::write(to, text.as_bytes());
}

/// Writes text where reports go.
pub(crate) fn log(text: fmt::Arguments<'_>) {
    write(LOG.load(Relaxed), &Text::of(text));
}

/// The program's warning function at first.
pub(crate) unsafe extern "C-unwind" fn print_warning(text: *mut c_char, word: usize) {
    let mut line = Text { bytes: [0; TEXT], len: 0 };
    // SAFETY: the text is a format with at most one word.
    let n = unsafe { libc::snprintf(line.bytes.as_mut_ptr().cast(), line.bytes.len(), text, word) };
    line.len = (n.max(0) as usize).min(line.bytes.len() - 1);
    write(LOG.load(Relaxed), &line);
}

/// `GC_set_log_fd`.
pub(crate) fn set_log(file: c_int) {
    LOG.store(file, Relaxed);
}

/// Reports go to a file.
pub(crate) fn log_to(path: &OsStr) {
    if let Ok(path) = CString::new(path.as_bytes())
        && let Ok(file) = file::open_log(&path)
    {
        LOG.store(file, Relaxed);
    }
}

/// What the functions for printing get: nine words and eight numbers with a point, whichever of them are there. They are passed as
/// C passes arguments of functions with any number of them: the processor's calling conventions have the same places for both.
macro_rules! printf {
    ($name:ident, $file:expr) => {
        /// Prints by a format.
        ///
        /// # Safety
        /// 1. The format names no more arguments than there are.
        #[expect(clippy::too_many_arguments, reason = "they stand for any number of arguments")]
        pub(crate) unsafe fn $name(
            format: *const c_char,
            a: usize,
            b: usize,
            c: usize,
            d: usize,
            e: usize,
            f0: f64,
            f1: f64,
            f2: f64,
            f3: f64,
            f4: f64,
            f5: f64,
            f6: f64,
            f7: f64,
            g: usize,
            h: usize,
            i: usize,
            j: usize,
        ) {
            let mut line = Text { bytes: [0; TEXT], len: 0 };
            // SAFETY: contract 1; what was not passed is read and not used.
            let n = unsafe {
                libc::snprintf(
                    line.bytes.as_mut_ptr().cast(),
                    line.bytes.len(),
                    format,
                    a,
                    b,
                    c,
                    f0,
                    f1,
                    f2,
                    f3,
                    f4,
                    f5,
                    f6,
                    f7,
                    d,
                    e,
                    g,
                    h,
                    i,
                    j,
                )
            };
            line.len = (n.max(0) as usize).min(line.bytes.len() - 1);
            write($file, &line);
        }
    };
}

printf!(printf, libc::STDOUT_FILENO);
printf!(err_printf, libc::STDERR_FILENO);
printf!(log_printf, LOG.load(Relaxed));
