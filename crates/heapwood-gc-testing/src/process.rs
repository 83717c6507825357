//! A test's body in a process of its own, and what a process looks like from inside.
//!
//! A test that changes or counts what belongs to the process (handlers of signals, files, memory, threads, forks), or that is to end
//! it, calls [`in_child`], or [`Child::run`] for what the child says and how it ends. The test then runs the test program once more, for
//! this test alone; there the same call runs the body, and ends the process. What comes before the call in the test runs in both
//! processes, and what comes after it in the first alone.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Names, in a child, the call that runs its body.
const CHILD: &str = "HEAPWOOD_TEST_CHILD";

/// What a child says first, on its standard output: so a test of a wrong name does not pass for one that went well.
const STARTED: &str = "in a process of its own\n";

/// Runs `body` in a process of its own, which must end well.
#[track_caller]
pub fn in_child(body: impl FnOnce()) {
    Child::new().run(body).well();
}

/// A process to come.
#[must_use]
pub struct Child {
    call: String,
    variables: Vec<(&'static str, String)>,
}

impl Child {
    #[expect(clippy::new_without_default, reason = "it notes its caller")]
    #[track_caller]
    pub fn new() -> Self {
        Child { call: Location::caller().to_string(), variables: Vec::new() }
    }

    /// Tells children apart that one call starts with several bodies.
    pub fn called(mut self, name: impl core::fmt::Debug) -> Self {
        self.call += &format!(" {name:?}");
        self
    }

    /// With this variable. (`HEAPWOOD` is not set in other children.)
    pub fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// Starts it, with pipes for what it reads and writes.
    pub fn start(self, body: impl FnOnce()) -> std::process::Child {
        if std::env::var(CHILD).is_ok_and(|call| call == self.call) {
            print!("{STARTED}");
            let went_well = catch_unwind(AssertUnwindSafe(body)).is_ok();
            std::process::exit(if went_well { 0 } else { 101 });
        }
        // The test harness names a test's thread after the test.
        let test =
            std::thread::current().name().expect("children are started by the test's own thread").to_owned();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([&test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
        command.env_remove("HEAPWOOD").env(CHILD, self.call).envs(self.variables);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs it to its end.
    pub fn run(self, body: impl FnOnce()) -> Ended {
        let output = self.start(body).wait_with_output().unwrap();
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        let ended = Ended { status: output.status, out, err };
        assert!(ended.out.contains(STARTED), "no child has started: {ended}");
        ended
    }
}

/// A process that has ended, and what it has written.
pub struct Ended {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl core::fmt::Display for Ended {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "the child ended with {}\n-- stdout --\n{}\n-- stderr --\n{}",
            self.status, self.out, self.err
        )
    }
}

impl Ended {
    /// Asserts that it has ended well, and prints what it has told.
    pub fn well(self) -> Self {
        assert!(self.status.success(), "{self}");
        print!("{}", self.out);
        self
    }

    /// Asserts that it has ended with SIGABRT after a message about corruption that contains `text`.
    pub fn corrupt(self, text: &str) -> Self {
        assert_eq!(self.status.signal(), Some(libc::SIGABRT), "{self}");
        let line = self.err.lines().find(|line| line.starts_with("heapwood: heap corruption: "));
        assert!(
            line.is_some_and(|line| line.contains(text)),
            "no message about corruption has {text:?}: {self}"
        );
        self
    }

    /// Asserts that its standard error contains a text.
    pub fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "{text:?} is not said: {self}");
        self
    }
}

/// Forks a process that runs `f` and ends with the number that it returns, 101 if it panics; what the kernel says of its end. One
/// that hangs is ended after 100 seconds.
pub fn forked(f: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the tests call in the child what may be called there: that is what is tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no process can be made");
    if child == 0 {
        // SAFETY: sets a timer, and ends the process without what the test harness does at its end.
        unsafe {
            libc::alarm(100);
            libc::_exit(catch_unwind(AssertUnwindSafe(f)).unwrap_or(101));
        }
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

/// Bytes that this process has resident.
pub fn resident() -> usize {
    heapwood_os::process::usage::resident_memory().expect("/proc") as usize
}

/// What the kernel says of each thread of this process whose name begins so.
pub fn threads_called(name: &str) -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let all = tasks.filter_map(|task| std::fs::read_to_string(task.join("status")).ok());
    all.filter(|status| status.starts_with(&format!("Name:\t{name}"))).collect()
}

/// Waits until `is_so`, for a machine under load for a minute; how long it took.
pub fn within_a_minute(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    began.elapsed()
}

/// Waits until another thread has set a flag.
pub fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
}

/// Calls a function when it is dropped, with a panic, too.
pub struct Over<F: Fn()>(pub F);

impl<F: Fn()> Drop for Over<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Ends the process if what is counted does not change for a minute: threads that wait for each other never fail a test.
pub fn watched<R>(steps: &AtomicUsize, f: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watchdog = scope.spawn(|| {
            let (mut seen, mut since) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_millis(100));
                let now = steps.load(Ordering::Relaxed);
                since = if now == seen { since + 1 } else { 0 };
                seen = now;
                if since == 600 {
                    eprintln!("no thread has gone on for a minute, after {now} steps");
                    std::process::abort();
                }
            }
        });
        // With a panic, too.
        let _over = Over(|| {
            done.store(true, Ordering::Relaxed);
            watchdog.thread().unpark();
        });
        f()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_panics_fails_its_test_which_quotes_it() {
        let child = Child::new().run(|| panic!("said in the child"));
        assert_eq!(child.status.code(), Some(101));
        let quoted = catch_unwind(AssertUnwindSafe(|| child.well())).err().unwrap();
        let text = quoted.downcast::<String>().unwrap();
        assert!(text.contains("exit status: 101") && text.contains("said in the child"), "{text}");
    }
}
