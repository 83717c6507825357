//! A thread that keeps a stop waiting is named on standard error: once, and now and then as long as it does. Invariant: nothing
//! is written before it has waited for a second.

use crate::process;
use core::ffi::c_int;
use core::fmt;
use heapwood_os::message::write_line;
use heapwood_os::signal;
use heapwood_os::slow_thread::why_slow;
use heapwood_os::task::describe_task;

/// A thread has not stopped for N seconds: where a signal was sent, or else in verify mode, that is said.
pub(crate) fn report_slow_thread(thread: u32, seconds: u32, signal: Option<c_int>, verifies: bool) {
    if !(seconds.is_power_of_two() || seconds.is_multiple_of(60)) {
        return;
    }
    if let Some(signal) = signal {
        let name = signal::name(signal).unwrap_or("signal");
        write_line(format_args!(
            "heapwood: a collection waits for {}: for {seconds} s it has not answered {name} ({signal}){}",
            TaskName(thread),
            SlowReason(thread, signal)
        ));
    } else if verifies {
        write_line(format_args!(
            "heapwood: verify: a collection waits for {}: for {seconds} s it has neither polled nor allocated. Calls \
             that block belong into a blocking region",
            TaskName(thread)
        ));
    }
}

/// What a thread is doing, in the system's words.
struct TaskName(u32);

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_task(self.0, f)
    }
}

/// Why a thread may not have answered a signal.
struct SlowReason(u32, c_int);

impl fmt::Display for SlowReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if process::is_replaced(self.1) {
            return f.write_str(": the signal has another handler now, which does not call ours");
        }
        let mut cause = AfterColon { begun: false, f };
        why_slow(self.0, self.1, &mut cause)?;
        match cause.begun {
            true => Ok(()),
            false => f.write_str(": is it on a stack that was not registered?"),
        }
    }
}

/// Writes a colon before a cause, if there is one.
struct AfterColon<'a, 'f> {
    begun: bool,
    f: &'a mut fmt::Formatter<'f>,
}

impl fmt::Write for AfterColon<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !core::mem::replace(&mut self.begun, true) {
            self.f.write_str(": ")?;
        }
        self.f.write_str(text)
    }
}
