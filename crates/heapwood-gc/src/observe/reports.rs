//! The reports of verify mode: lines on standard error, or texts for a function of the program. Invariant: with the option
//! `verify_stops` nothing runs after the first; what ends the process is a report, too. The function changes between collections, and
//! reports are made in them.

use core::ffi::{CStr, c_char, c_void};
use core::fmt;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use heapwood_os::diagnose::message::{corrupt, with_text, write_line};

/// Such a function: its argument, and a sentence.
pub type ReportFn = unsafe extern "C" fn(*mut c_void, *const c_char);

/// A function of the program that gets the reports of verify mode, in place of standard error.
#[derive(Clone, Copy)]
pub struct ReportHook {
    /// It is called in a pause, on any thread, with the argument and a sentence that ends with the call. It allocates in no
    /// heap, and waits for no thread.
    pub function: ReportFn,
    /// Its argument.
    pub argument: *mut c_void,
}

/// Who gets the reports of a heap.
pub(crate) struct Reports {
    /// Null: standard error does.
    function: AtomicPtr<()>,
    argument: AtomicPtr<c_void>,
    stops: bool,
}

impl Reports {
    pub(crate) fn new(stops: bool) -> Self {
        Reports { function: AtomicPtr::new(null_mut()), argument: AtomicPtr::new(null_mut()), stops }
    }

    /// Sets the function that gets them, between two collections.
    pub(crate) fn set_hook(&self, hook: Option<ReportHook>) {
        self.argument.store(hook.map_or(null_mut(), |hook| hook.argument), Ordering::Relaxed);
        self.function.store(hook.map_or(null_mut(), |hook| hook.function as *mut ()), Ordering::Release);
    }

    /// Makes a report.
    pub(crate) fn say(&self, text: fmt::Arguments<'_>) {
        if !self.tell(text) {
            write_line(format_args!("heapwood: verify: {text}"));
        }
        if self.stops {
            corrupt(format_args!("the option verify_stops ends the process at this report"));
        }
    }

    /// Makes the last report, of a heap that must not be used any further.
    pub(crate) fn end(&self, text: fmt::Arguments<'_>) -> ! {
        self.tell(text);
        corrupt(text)
    }

    /// Calls the program's function, if there is one.
    fn tell(&self, text: fmt::Arguments<'_>) -> bool {
        let (function, argument) =
            (self.function.load(Ordering::Acquire), self.argument.load(Ordering::Relaxed));
        if function.is_null() {
            return false;
        }
        // SAFETY: `set_hook` has stored it.
        let function: ReportFn = unsafe { core::mem::transmute(function) };
        // SAFETY: who set it promised that it may be called so.
        with_text(text, |text: &CStr| unsafe { function(argument, text.as_ptr()) });
        true
    }
}
