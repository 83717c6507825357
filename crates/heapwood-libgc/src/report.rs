//! Warnings, errors and reports. Warnings go to the program's function; the lines of `GC_PRINT_STATS` and of `GC_dump` to standard
//! error, or to the file of `GC_LOG_FILE`. Invariant: nothing here allocates.

use crate::process::made;
use crate::settings;

use core::ffi::{c_char, c_int};
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use heapwood_gc::{AllocError, Stats};

/// Where reports go.
static LOG: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);
/// 1: a line for each collection; 2: more of them.
static PRINTS: AtomicI32 = AtomicI32::new(0);

/// What the last collection has reported.
static PAUSES_BEFORE: AtomicU64 = AtomicU64::new(0);
static LIVE_BEFORE: AtomicUsize = AtomicUsize::new(0);

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

    /// What was written.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn as_ptr(&self) -> *const c_char {
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

fn write(file: c_int, text: &Text) {
    // SAFETY: so many bytes are written.
    unsafe { libc::write(file, text.bytes.as_ptr().cast(), text.len) };
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

/// Warns the program.
pub(crate) fn warn(text: fmt::Arguments<'_>) {
    let mut text = Text::of(format_args!("GC Warning: {text}\n"));
    // The function takes a format.
    for at in 0..text.len {
        if text.bytes[at] == b'%' {
            text.bytes[at] = b'.';
        }
    }
    if let Some(function) = settings::warn_proc() {
        // SAFETY: the program has set it.
        unsafe { function(text.as_ptr().cast_mut(), 0) };
    }
}

/// Warns of a function that does the nearest safe thing, once.
#[cold]
pub(crate) fn tell_once(told: &AtomicBool, name: &str) {
    if !told.load(Relaxed) && !told.swap(true, Relaxed) {
        warn(format_args!("{name} is not what it is in libgc: docs/guide/libgc.md says what it does here"));
    }
}

/// An allocation was refused.
#[cold]
pub(crate) fn refused(n: usize, error: &AllocError) {
    match error {
        AllocError::Misuse(why) => warn(format_args!("{n} bytes cannot be allocated here: {why}")),
        _ => warn(format_args!("Out of Memory! {error}")),
    }
}

/// The program's function for the end of the process, at first.
pub(crate) unsafe extern "C-unwind" fn no_abort(text: *const c_char) {
    if !text.is_null() {
        // SAFETY: the text ends in a zero.
        let text = unsafe { core::ffi::CStr::from_ptr(text) };
        log(format_args!("{}\n", text.to_str().unwrap_or("?")));
    }
}

/// Ends the process with a text.
#[cold]
pub(crate) fn abort(text: fmt::Arguments<'_>) -> ! {
    let text = Text::of(format_args!("heapwood-libgc: {text}"));
    match settings::abort_function() {
        // SAFETY: the program has set it.
        Some(function) => unsafe { function(text.as_ptr()) },
        None => write(libc::STDERR_FILENO, &text),
    }
    std::process::abort()
}

/// `GC_abort_on_oom`.
pub(crate) fn abort_on_oom() -> ! {
    log(format_args!("Insufficient memory for the allocation\n"));
    abort(format_args!("out of memory"))
}

/// `GC_set_log_fd`.
pub(crate) fn set_log(file: c_int) {
    LOG.store(file, Relaxed);
}

/// Reports go to a file.
pub(crate) fn log_to(path: &std::ffi::OsStr) {
    use std::os::fd::IntoRawFd;
    if let Ok(file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        LOG.store(file.into_raw_fd(), Relaxed);
    }
}

/// Each collection writes a line, or more.
pub(crate) fn print_stats(verbose: bool) {
    PRINTS.store(1 + c_int::from(verbose), Relaxed);
}

/// A collection begins.
pub(crate) fn before_collection() {
    if PRINTS.load(Relaxed) != 0 {
        log(format_args!("Initiating full world-stop collection!\n"));
    }
}

/// A collection has ended: the lines of libgc that scripts read. `allocated` bytes came since the last.
pub(crate) fn after_collection(stats: &Stats, allocated: usize) {
    let pause = PAUSES_BEFORE.swap(stats.pause_total_ns, Relaxed);
    let live = LIVE_BEFORE.swap(stats.live_bytes, Relaxed);
    if PRINTS.load(Relaxed) == 0 {
        return;
    }
    let (number, ns) = (crate::stats::gc_no(), stats.pause_total_ns - pause);
    let (heap, unmapped) = (stats.backed_bytes, stats.committed_bytes.saturating_sub(stats.backed_bytes));
    let freed = (live + allocated).saturating_sub(stats.live_bytes);
    let average = stats.pause_total_ns / stats.collections.max(1) / 1_000_000;
    log(format_args!(
        "\n--> Marking for collection #{number} after {allocated} allocated bytes\n\
         GC #{number} freed {freed} bytes, heap {} KiB (+ {} KiB unmapped + 0 KiB internal)\n\
         World-stopped marking took {} ms {} ns ({average} ms in average)\n\
         In-use heap: {}% ({} KiB pointers + 0 KiB other)\n\
         Complete collection took {} ms {} ns\n",
        heap >> 10,
        unmapped >> 10,
        ns / 1_000_000,
        ns % 1_000_000,
        stats.live_bytes * 100 / heap.max(1),
        stats.live_bytes >> 10,
        ns / 1_000_000,
        ns % 1_000_000,
    ));
    if PRINTS.load(Relaxed) > 1 {
        log(format_args!(
            "{} finalization entries; {} finalization-ready objects\n",
            stats.finalizers, stats.finalizers_queued
        ));
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

/// `GC_dump`.
pub(crate) fn dump() {
    dump_named(core::ptr::null());
}

/// `GC_dump_named`.
pub(crate) fn dump_named(_name: *const c_char) {
    let Some(heap) = made() else { return };
    log(format_args!("***Heapwood, {} symbols of libgc\n", crate::symbols::count()));
    let stats = heap.inspect().stats();
    for (of, value) in heapwood_gc::STATISTICS.iter().zip(stats.values()) {
        log(format_args!("{} {value}\n", of.name));
    }
}
