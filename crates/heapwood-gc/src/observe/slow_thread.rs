//! Reports a thread that keeps a stop waiting, on standard error: once, and then now and then. Invariant: it writes
//! nothing before the stop has waited for a second.

use crate::process;
use core::ffi::c_int;
use core::fmt;
use heapwood_os::diagnose::message::write_line;
use heapwood_os::diagnose::slow_thread::why_slow;
use heapwood_os::diagnose::task::describe_task;
use heapwood_os::threads::signal;

/// Reports a thread that has not stopped for N seconds: always if it was sent a signal, otherwise in verify mode.
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

/// The activity of a thread, in the system's words.
struct TaskName(u32);

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_task(self.0, f)
    }
}

/// The likely reason for which a thread has not answered a signal.
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

/// Writes a colon before the first text.
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
