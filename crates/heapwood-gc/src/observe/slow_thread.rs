//! Reports a thread that keeps a stop waiting, on standard error: once, and then now and then. Invariant: it writes
//! nothing before the stop has waited for a second.

use crate::process;
use core::ffi::c_int;
use core::fmt;
use heapwood_os::diagnose::message::write_line;
use heapwood_os::diagnose::task::describe_task;
use heapwood_os::threads::signal;

/// Reports a thread that has not stopped for N seconds: always if it was sent a signal, otherwise in verify mode.
pub(crate) fn report_slow_thread(thread: u32, seconds: u32, signal: Option<c_int>, verifies: bool) {
    if !(seconds.is_power_of_two() || seconds.is_multiple_of(60)) {
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
    } else if verifies {
        write_line(format_args!(
            "heapwood: verify: a collection waits for {thread}: for {seconds} s it has neither polled nor allocated. \
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
