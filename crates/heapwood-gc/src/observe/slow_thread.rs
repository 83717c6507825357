//! Reports a thread that keeps a stop waiting, on standard error: once, and then now and then. Invariant: it writes
//! nothing before the stop has waited for a second.

use crate::process;
use core::ffi::c_int;
use core::fmt;
use heapwood_os::diagnose::message::write_line;
use heapwood_os::diagnose::task::describe_task;
use heapwood_os::threads::signal;

/// When a thread that keeps a stop waiting is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowThreads {
    /// The signal that stops threads, unless they poll: then a thread is reported after a second.
    pub(crate) signal: Option<c_int>,
    /// The same in verify mode.
    pub(crate) verifies: bool,
    /// Otherwise after so many nanoseconds.
    pub(crate) after: u64,
}

impl SlowThreads {
    /// Whether a thread is reported when it has not stopped for so many whole seconds.
    fn are_reported_at(self, seconds: u32) -> bool {
        if self.signal.is_some() || self.verifies {
            return seconds.is_power_of_two() || seconds.is_multiple_of(60);
        }
        let is_past = |seconds: u32| u64::from(seconds) * 1_000_000_000 >= self.after;
        is_past(seconds) && (seconds == 1 || !is_past(seconds - 1) || seconds.is_multiple_of(60))
    }

    /// Reports a thread that has not stopped for N seconds, if it is time.
    pub(crate) fn report(self, thread: u32, seconds: u32) {
        if !self.are_reported_at(seconds) {
            return;
        }
        let thread = ThreadName(thread);
        if let Some(signal) = self.signal {
            let name = signal::name(signal).unwrap_or("signal");
            let cause = match process::is_replaced(signal) {
                true => "the signal has another handler now, which does not call ours",
                false => "does it block the signal, or run on a stack that was not registered?",
            };
            write_line(format_args!(
                "heapwood: a collection waits for {thread}: for {seconds} s it has not answered {name} ({signal}): {cause}"
            ));
            return;
        }
        let mode = if self.verifies { "verify: " } else { "" };
        write_line(format_args!(
            "heapwood: {mode}a collection waits for {thread}: for {seconds} s it has neither polled nor allocated. \
             Calls that block belong into a blocking region"
        ));
    }
}

/// A thread's name and state.
struct ThreadName(u32);

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_task(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_thread_is_reported_as_a_table() {
        const PLAIN: SlowThreads = SlowThreads { signal: None, verifies: false, after: 10_000_000_000 };
        let rows: [(SlowThreads, &[u32]); 5] = [
            (PLAIN, &[10, 60, 120]),
            (SlowThreads { after: 0, ..PLAIN }, &[1, 60, 120]),
            (SlowThreads { after: u64::MAX, ..PLAIN }, &[]),
            (SlowThreads { verifies: true, ..PLAIN }, &[1, 2, 4, 8, 16, 32, 60, 64, 120, 128]),
            (
                SlowThreads { signal: Some(23), after: u64::MAX, ..PLAIN },
                &[1, 2, 4, 8, 16, 32, 60, 64, 120, 128],
            ),
        ];
        for (when, reported) in rows {
            let found: Vec<u32> = (1..=130).filter(|&seconds| when.are_reported_at(seconds)).collect();
            assert_eq!(found, reported, "{when:?}");
        }
    }
}
