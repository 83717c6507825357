//! Running the command and reading its output.
pub(crate) use heapwood_report::testing::{File, Program, Ran, squeezed};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const HEAPWOOD: Program = Program(env!("CARGO_BIN_EXE_heapwood"));

pub(crate) fn command(args: &str) -> Command {
    HEAPWOOD.command(args)
}

pub(crate) fn heapwood(args: &str) -> Ran {
    HEAPWOOD.run(args)
}

/// The output of a run that must succeed.
pub(crate) fn output(args: &str) -> String {
    HEAPWOOD.output(args)
}

pub(crate) fn json(args: &str) -> Value {
    HEAPWOOD.json(args)
}

pub(crate) fn expected(file: &str) -> String {
    let path = format!("{}/../../peers/expected/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// An empty folder for a test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
