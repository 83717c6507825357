//! Running the command and looking at what it says.
#![allow(dead_code, reason = "no test uses all of it")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What became of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapwood"));
    command.args(args.split_whitespace()).env("RUST_BACKTRACE", "1");
    command
}

pub(crate) fn heapwood(args: &str) -> Ran {
    let output = command(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// What a run that must succeed prints.
pub(crate) fn output(args: &str) -> String {
    let ran = heapwood(args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "heapwood {args}\n{}", ran.out);
    ran.out
}

pub(crate) fn json(args: &str) -> Value {
    let out = output(&format!("{args} --json"));
    assert_eq!(out.lines().count(), 1, "one object on one line: {out}");
    serde_json::from_str(&out).unwrap()
}

/// Lines without repeated spaces, to compare them whatever the columns.
pub(crate) fn squeezed(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

pub(crate) fn expected(file: &str) -> String {
    let path = format!("{}/../../peers/expected/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// A file of the test program's own, with some name; goes away with the test.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(name: &str) -> File {
        let program = std::env::current_exe().unwrap();
        let program = program.file_stem().unwrap().to_string_lossy();
        File(std::env::temp_dir().join(format!("heapwood-{program}-{}-{name}", std::process::id())))
    }

    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> File {
        let file = File::new(name);
        std::fs::write(&file.0, content).unwrap();
        file
    }

    pub(crate) fn path(&self) -> &Path {
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
