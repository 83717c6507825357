//! Runs of a program in its tests, and checks of their output.

use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, by its path.
#[derive(Clone, Copy, Debug)]
pub struct Program(pub &'static str);

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Program {
    /// The command with these arguments, split at blanks.
    pub fn command(self, args: &str) -> Command {
        let mut command = Command::new(self.0);
        command.args(args.split_whitespace()).env("RUST_BACKTRACE", "1");
        command
    }

    /// The same with a limit of address space, for runs that would exhaust the machine's memory.
    pub fn within(self, kib: u64, args: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {kib}; exec '{}' {args}", self.0)]);
        command
    }

    /// The result of a run with these arguments.
    pub fn run(self, args: &str) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// The output of a run that must succeed.
    pub fn output(self, args: &str) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{} {args}\n{}", self.0, ran.out);
        ran.out
    }

    /// A run with a full standard output, which must report it on one line; a closed standard output must be no error.
    pub fn cannot_write(self, args: &str) {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(self.command(args).stdout(full));
        assert_eq!(ran.code, Some(1), "{args}: {}", ran.err);
        assert!(ran.err.contains(": the output could not be written: No space left"), "{}", ran.err);
        assert!(ran.err.starts_with("heapwood") && ran.err.lines().count() == 1, "{}", ran.err);
        let closed = format!("exec '{}' {args} >&-", self.0);
        let closed = Ran::of(Command::new("sh").args(["-c", &closed]));
        assert!(closed.err.is_empty() && closed.code == Some(0), "Rust opens /dev/null there: {closed:?}");
    }

    /// A run with a full standard error: its exit code must be that of the error.
    pub fn cannot_complain(self, args: &str) {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let code = self.command(args).stderr(full).output().unwrap().status.code();
        assert_eq!(code, self.run(args).code, "{args}");
        assert!(code == Some(1) || code == Some(2), "{args}: {code:?}");
    }

    /// A run whose last argument has escape codes and a line end, between two texts: it must fail, and show them
    /// escaped.
    pub fn shows_codes(self, args: &str, before: &str, after: &str) {
        let name = [before.as_bytes(), b"a\x1b]0;title\x07b\x1b[31mc\nd", after.as_bytes()].concat();
        let ran = Ran::of(self.command(args).arg(OsStr::from_bytes(&name)));
        assert!(matches!(ran.code, Some(1 | 2)), "{args}: {}", ran.err);
        assert!(ran.err.contains("\\u{1b}") && ran.err.contains("c\\nd"), "{args}: {:?}", ran.err);
        assert!(ran.err.chars().all(|c| c == '\n' || !c.is_control()), "{args}: {:?}", ran.err);
    }

    /// Its output with `--json`.
    pub fn json(self, args: &str) -> Value {
        let out = self.output(&format!("{args} --json"));
        assert_eq!(out.lines().count(), 1, "one object on one line: {out}");
        serde_json::from_str(&out).unwrap()
    }
}

impl Ran {
    /// The result of a command.
    pub fn of(command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A run that must end with `code`, with all of `words` on standard error, and no other output.
pub fn fails(command: &mut Command, code: i32, words: &[&str]) {
    let ran = Ran::of(command);
    assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{command:?}: {}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{command:?} does not say {word:?}:\n{}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// Lines with single spaces, to compare them without columns.
pub fn squeezed(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Asserts that a spread of times exists and is in order.
pub fn check_spread(spread: &Value) {
    let [min, median, max] = ["min", "median", "max"].map(|key| spread[key].as_f64().unwrap());
    assert!(0.0 < min && min <= median && median <= max, "{spread}");
}

/// A temporary file of the test program, removed on drop.
#[derive(Debug)]
pub struct File(PathBuf);

impl File {
    /// A file that does not exist yet.
    pub fn new(name: &str) -> File {
        let program = std::env::current_exe().unwrap();
        let program = program.file_stem().unwrap().to_string_lossy();
        File(std::env::temp_dir().join(format!("heapwood-{program}-{}-{name}", std::process::id())))
    }

    /// A file with this content.
    pub fn with(name: &str, content: impl AsRef<[u8]>) -> File {
        let file = File::new(name);
        std::fs::write(&file.0, content).unwrap();
        file
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl std::fmt::Display for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
