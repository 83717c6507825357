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
    /// After a second, in verify mode, and in any mode if a signal is to stop it.
    pub(crate) verifies: bool,
    /// Otherwise after so many nanoseconds.
    pub(crate) after: u64,
}

impl SlowThreads {
    /// Whether a thread is reported when it has not stopped for so many whole seconds.
    fn are_reported_at(self, seconds: u32, by_signals: bool) -> bool {
        if by_signals || self.verifies {
            return seconds.is_power_of_two() || seconds.is_multiple_of(60);
        }
        let is_past = |seconds: u32| u64::from(seconds) * 1_000_000_000 >= self.after;
        is_past(seconds) && (seconds == 1 || !is_past(seconds - 1) || seconds.is_multiple_of(60))
    }

    /// Reports a thread that has not stopped for N seconds, if it is time; `signal` is to stop it, unless it polls.
    pub(crate) fn report(self, thread: u32, seconds: u32, signal: Option<c_int>) {
        if !self.are_reported_at(seconds, signal.is_some()) {
            return;
        }
        let thread = ThreadName(thread);
        if let Some(signal) = signal {
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
        const PLAIN: SlowThreads = SlowThreads { verifies: false, after: 10_000_000_000 };
        const OFF: SlowThreads = SlowThreads { after: u64::MAX, ..PLAIN };
        const OFTEN: [u32; 10] = [1, 2, 4, 8, 16, 32, 60, 64, 120, 128];
        let rows: [(SlowThreads, bool, &[u32]); 5] = [
            (PLAIN, false, &[10, 60, 120]),
            (SlowThreads { after: 0, ..PLAIN }, false, &[1, 60, 120]),
            (OFF, false, &[]),
            (SlowThreads { verifies: true, ..OFF }, false, &OFTEN),
            (OFF, true, &OFTEN),
        ];
        for (when, by_signals, reported) in rows {
            let is_reported = |&seconds: &u32| when.are_reported_at(seconds, by_signals);
            let found: Vec<u32> = (1..=130).filter(is_reported).collect();
            assert_eq!(found, reported, "{when:?}");
        }
    }
}
