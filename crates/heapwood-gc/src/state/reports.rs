//! The reports of a heap in verify mode that do not end the process by themselves: they are counted, and with the option `verify_stop`
//! the first ends it. Invariant: a report is whole before the process ends.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use heapwood_os::diagnose::message::{end, report, write_line};

/// The reports of a heap.
pub(crate) struct Reports {
    stops: bool,
    count: AtomicU64,
}

impl Reports {
    pub(crate) fn new(stops: bool) -> Self {
        Reports { stops, count: AtomicU64::new(0) }
    }

    /// Reports a mistake of the program.
    pub(crate) fn tell(&self, text: fmt::Arguments<'_>) {
        self.tell_with(text, || {});
    }

    /// The same with further lines, which `more` writes.
    pub(crate) fn tell_with(&self, text: fmt::Arguments<'_>, more: impl FnOnce()) {
        report(format_args!("heapwood: verify: {text}"));
        more();
        self.count.fetch_add(1, Relaxed);
        if self.stops {
            end();
        }
    }

    /// Says how many there were, at the heap's end.
    pub(crate) fn tell_count(&self) {
        match self.count.load(Relaxed) {
            0 => {}
            1 => write_line(format_args!("heapwood: verify: 1 report")),
            n => write_line(format_args!("heapwood: verify: {n} reports")),
        }
    }
}
