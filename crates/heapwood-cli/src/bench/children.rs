//! Processes: one at a time, each measured by the operating system, none left behind. Each child leads a process group.
//! Invariant: `current` is the running child, from before its first instruction until it is reaped. So the thread that
//! handles Ctrl-C, SIGTERM and SIGHUP ends the right group or none. If this command is killed, the kernel ends its
//! child.

use crate::process::{Pid, in_own_group, kill_group, reap, wait_until_ended};
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::process::usage::Usage;
use heapwood_report::CommandError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The processes of this command, which end with it.
pub(crate) struct Children {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    current: Option<Pid>,
    signal: Option<i32>,
}

/// A process that has ended.
pub(crate) struct Completion {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) wall_s: f64,
    pub(crate) used: Usage,
}

impl Children {
    /// From here on, a signal that ends this command ends its child first.
    pub(crate) fn new() -> Result<Children, CommandError> {
        let state = Arc::new(Mutex::new(State::default()));
        let mut signals =
            signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CommandError::run)?;
        let shared = state.clone();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                interrupt(&shared, signal);
            }
        });
        Ok(Children { state })
    }

    /// Runs a program to its end, with empty input, and captures its output.
    ///
    /// # Errors
    ///
    /// The inner one if the program cannot be started, the outer one if a signal asks this command to end.
    pub(crate) fn run(&self, command: &mut Command) -> Result<io::Result<Completion>, CommandError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut state = lock(&self.state);
        check(&state)?;
        let started = monotonic_ns();
        let mut child = match in_own_group(command).spawn() {
            Ok(child) => child,
            Err(e) => return Ok(Err(e)),
        };
        let pid = Pid::from(&child);
        state.current = Some(pid);
        drop(state);

        let ended = follow(&mut child, pid);
        let wall_s = (monotonic_ns() - started) as f64 / 1e9;
        let mut state = lock(&self.state);
        state.current = None;
        let reaped = reap(pid);
        check(&state)?;
        Ok(ended.and_then(|(stdout, stderr)| {
            let (status, used) = reaped?;
            Ok(Completion { status, stdout, stderr, wall_s, used })
        }))
    }
}

/// Reads both pipes to their ends, so that neither fills, and waits.
fn follow(child: &mut std::process::Child, pid: Pid) -> io::Result<(String, String)> {
    fn read(pipe: Option<impl Read>) -> io::Result<String> {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
    let stderr = child.stderr.take();
    let stderr = std::thread::spawn(move || read(stderr));
    let stdout = read(child.stdout.take());
    let stderr =
        stderr.join().unwrap_or_else(|_| Err(io::Error::other("the reader of standard error failed")));
    wait_until_ended(pid)?;
    Ok((stdout?, stderr?))
}

fn interrupt(state: &Mutex<State>, signal: i32) {
    let mut state = lock(state);
    let again = state.signal.replace(signal).is_some();
    match state.current {
        Some(pid) => kill_group(pid),
        // No child runs, so [`Children::run`] would not return: end here.
        None => std::process::exit(128 + signal),
    }
    if again {
        std::process::exit(128 + signal);
    }
}

fn check(state: &State) -> Result<(), CommandError> {
    state.signal.map_or(Ok(()), |signal| Err(CommandError::interrupted(signal)))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Completion {
    /// `None` on success. Otherwise the status and the end of standard error.
    pub(crate) fn failure(&self) -> Option<String> {
        if self.status.success() {
            return None;
        }
        // The last lines name the cause, most often.
        let said: Vec<&str> = self.stderr.trim().lines().rev().take(5).collect();
        let said: Vec<&str> = said.into_iter().rev().collect();
        let said = if said.is_empty() { String::new() } else { format!(": {}", said.join("\n  ")) };
        Some(format!("{}{said}", self.status))
    }
}
