//! Reports a thread that keeps a stop waiting, on standard error: once, and then now and then. Invariant: it writes
//! nothing before the stop has waited for a second.
//!
//! A thread that was sent a signal should answer at once, and verify mode is for tests: there the first report comes after a second.
//! Elsewhere a thread may compute for a while without a poll, so it comes after five; a program that hangs says why.

use crate::process;
use core::ffi::c_int;
use core::fmt;
use core::ops::RangeInclusive;
use heapwood_os::diagnose::message::write_line;
use heapwood_os::diagnose::slow_thread::why_slow;
use heapwood_os::diagnose::task::describe_task;
use heapwood_os::threads::signal;

/// Where neither a signal nor verify mode asks for more, a wait that is shorter than these seconds is not reported.
const PATIENCE: u32 = 5;

/// Whether a wait of so many seconds is reported: the first time, and then more and more rarely, but each minute.
fn is_reported(seconds: u32, at_once: bool) -> bool {
    let again = seconds.is_power_of_two() || seconds.is_multiple_of(60);
    if at_once { again } else { seconds == PATIENCE || again && seconds > PATIENCE }
}

/// Reports a thread that has not stopped for so many seconds, of which the last have just passed: more than one, if the waiting thread
/// did not run.
pub(crate) fn report_slow_thread(
    thread: u32,
    mut passed: RangeInclusive<u32>,
    signal: Option<c_int>,
    verifies: bool,
) {
    let seconds = *passed.end();
    if !passed.any(|second| is_reported(second, signal.is_some() || verifies)) {
        return;
    }
    if let Some(signal) = signal {
        let name = signal::name(signal).unwrap_or("signal");
        write_line(format_args!(
            "heapwood: a collection waits for {}: for {seconds} s it has not answered {name} ({signal}){}",
            TaskName(thread),
            SlowReason(thread, signal)
        ));
    } else {
        write_line(format_args!(
            "heapwood: {}a collection waits for {}: for {seconds} s it has neither polled nor allocated. Calls \
             that block belong into a blocking region",
            if verifies { "verify: " } else { "" },
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

#[cfg(test)]
mod tests {
    use super::is_reported;

    fn reported(at_once: bool) -> Vec<u32> {
        (1..200).filter(|&seconds| is_reported(seconds, at_once)).collect()
    }

    #[test]
    fn a_wait_is_reported_once_and_then_now_and_then() {
        assert_eq!(reported(true), [1, 2, 4, 8, 16, 32, 60, 64, 120, 128, 180]);
        assert_eq!(reported(false), [5, 8, 16, 32, 60, 64, 120, 128, 180]);
    }
}
