//! Warnings and errors. Warnings go to the program's function. Invariant: nothing here allocates.

pub(crate) mod log;
pub(crate) mod printing;

use crate::report::log::{Text, log, write};
use crate::settings;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use heapwood_gc::AllocError;
use heapwood_os::threads::cancellation::uncancelled;

/// Warns the program, whose function may be a cancellation point: the allocation that warns is none.
pub(crate) fn warn(text: fmt::Arguments<'_>) {
    // The function takes a format.
    let text = Text::of(format_args!("GC Warning: {text}\n")).without_formats();
    if let Some(function) = settings::warn_proc() {
        // SAFETY: the program has set it.
        uncancelled(|| unsafe { function(text.as_ptr().cast_mut(), 0) });
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
