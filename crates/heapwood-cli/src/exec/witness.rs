//! Processes that say that they have loaded the library: it connects to a socket of this command when it makes its heap, and waits
//! until the process's mappings were read; at the end of the process it says what its collections have cost. Invariant: what is
//! believed is what the kernel says of the mappings.

use super::library::{Library, SONAME};
use heapwood_report::CommandError;
use heapwood_report::legible::as_it_is;
use heapwood_report::size::show;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// The variable with the socket's path, for the library.
const VARIABLE: &str = "HEAPWOOD_EXEC";

/// A process with a heap.
#[derive(Clone, Debug, Default)]
struct Process {
    /// The libraries of that name that it had mapped.
    mapped: Vec<PathBuf>,
    /// What it said at its end, a name and a number in each line; empty if it did not end by itself.
    summary: String,
}

/// The command's socket, and what it has heard.
pub(super) struct Witness {
    folder: PathBuf,
    seen: Arc<Mutex<Vec<Process>>>,
    threads: Arc<Mutex<Vec<std::thread::JoinHandle<()>>>>,
}

/// What was heard of a program's processes.
pub(super) struct Seen(Vec<Process>);

impl Witness {
    pub(super) fn new() -> Result<Witness, CommandError> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("heapwood-exec-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).map_err(CommandError::run)?;
        let listener = UnixListener::bind(folder.join("socket")).map_err(CommandError::run)?;
        let witness = Witness { folder, seen: Arc::default(), threads: Arc::default() };
        let (seen, threads) = (witness.seen.clone(), witness.threads.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = seen.clone();
                let thread = std::thread::spawn(move || hear(stream, &seen));
                threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
            }
        });
        Ok(witness)
    }

    /// Has a program's processes tell.
    pub(super) fn be_told_by(&self, command: &mut Command) {
        command.env(VARIABLE, self.folder.join("socket"));
    }

    /// The program has ended: what was heard.
    pub(super) fn end(self) -> Seen {
        // Those that go on without their parent are not waited for.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
        let is_heard = || {
            let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            threads.iter().all(std::thread::JoinHandle::is_finished)
        };
        while !is_heard() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Seen(seen)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Hears one process.
fn hear(stream: UnixStream, seen: &Mutex<Vec<Process>>) {
    let Ok(mut answers) = stream.try_clone() else { return };
    let (mut stream, mut line) = (BufReader::new(stream), String::new());
    let Ok(true) = stream.read_line(&mut line).map(|n| n > 0) else { return };
    let mapped = line.trim().parse().map(mapped).unwrap_or_default();
    let at = {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(Process { mapped, summary: String::new() });
        seen.len() - 1
    };
    let mut summary = String::new();
    if answers.write_all(b"\n").is_ok() && stream.read_to_string(&mut summary).is_ok() {
        seen.lock().unwrap_or_else(PoisonError::into_inner)[at].summary = summary;
    }
}

/// The libraries called libgc that a process has mapped: those of the name, and the one that a link of the name leads to.
fn mapped(process: u32) -> Vec<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let mut files: Vec<PathBuf> = Vec::new();
    for path in maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..]))) {
        let is_libgc = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(SONAME) || name == "libgc.so");
        if is_libgc && !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
    files
}

impl Seen {
    /// Whether the program ran on the library.
    ///
    /// # Errors
    /// No process has loaded it, or one has another beside it.
    pub(super) fn check(&self, library: &Library, program: &Path) -> Result<(), CommandError> {
        let name = program.display();
        if self.0.is_empty() {
            return Err(CommandError::run(format_args!(
                "{name} ran, but no process of it has made a heap with {}: it does not use libgc, or has another",
                library.file.display()
            )));
        }
        let other = self.0.iter().flat_map(|process| &process.mapped).find(|file| **file != library.file);
        match other {
            Some(other) => Err(CommandError::run(format_args!(
                "{name} ran, but a process of it has {} mapped instead of, or beside, {}",
                other.display(),
                library.file.display()
            ))),
            None if self.0.iter().any(|process| process.mapped.is_empty()) => Err(CommandError::run(
                format_args!("{name} ran, but the mappings of a process of it could not be read"),
            )),
            None => Ok(()),
        }
    }

    /// Whether no process has said a word.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number of all processes' summaries together.
    fn sum(&self, name: &str) -> u64 {
        self.numbers(name).sum()
    }

    /// The largest of them.
    fn most(&self, name: &str) -> u64 {
        self.numbers(name).max().unwrap_or(0)
    }

    fn numbers<'s>(&'s self, name: &'s str) -> impl Iterator<Item = u64> + 's {
        let number = move |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        self.0.iter().filter_map(move |process| process.summary.lines().find_map(number))
    }

    /// Prints what the processes have said, on standard error.
    pub(super) fn summary(&self) {
        let untold = self.0.iter().filter(|process| process.summary.is_empty()).count();
        let ms = |name| self.sum(name) as f64 / 1e6;
        as_it_is(format_args!(
            "heapwood: {} process(es) with a heap, {} collections, {:.1} ms stopped, longest pause {:.2} ms, {} allocated",
            self.0.len(),
            self.sum("collections"),
            ms("pause_total_ns"),
            self.most("pause_max_ns") as f64 / 1e6,
            show(self.sum("allocated_bytes")),
        ));
        if untold > 0 {
            as_it_is(format_args!(
                "heapwood: {untold} of them ended without a word of their collections (a signal, or _exit)"
            ));
        }
    }
}
