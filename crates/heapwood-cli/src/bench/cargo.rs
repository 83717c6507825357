//! Builds programs of the sources by cargo, and finds them. cargo runs every time, as make does for the peers, and does nothing if all
//! is up to date.

use super::children::Children;
use heapwood_report::CommandError;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// `cargo build --release` in a folder of sources, with the programs going to a target folder of their own.
pub(crate) fn release(sources: &Path, target: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--message-format", "json-render-diagnostics", "--target-dir"]);
    command.arg(target).current_dir(sources);
    command
}

/// The programs that a build made.
pub(crate) struct Built(Vec<(String, PathBuf)>);

impl Built {
    /// The path of a program. It depends on cargo's configuration.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, String> {
        let found = self.0.iter().find(|(program, _)| program == name);
        found.map(|(_, path)| path.clone()).ok_or_else(|| format!("cargo did not say where it put {name}"))
    }
}

/// Runs a build of `what`. The inner error says why it failed.
pub(crate) fn build(
    children: &Children,
    what: &str,
    command: &mut Command,
) -> Result<Result<Built, String>, CommandError> {
    // It takes a minute, or several on a busy machine, without other output.
    let began = Instant::now();
    eprintln!("building {what} (a minute or more the first time) ..");
    let built = match children.run(command)? {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Err("cargo is not on PATH; install Rust with rustup, https://rustup.rs".into()));
        }
        Err(e) => return Ok(Err(format!("cargo cannot be started: {e}"))),
        Ok(built) => built,
    };
    if let Some(why) = built.failure() {
        return Ok(Err(format!("cargo: {why}")));
    }
    eprintln!("built {what} in {:.0} s", began.elapsed().as_secs_f64());
    Ok(Ok(Built(executables(&built.stdout))))
}

/// The programs in cargo's messages.
fn executables(said: &str) -> Vec<(String, PathBuf)> {
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |message: Value| {
        Some((message["target"]["name"].as_str()?.into(), message["executable"].as_str()?.into()))
    };
    messages.filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_cargos_messages() {
        let said = r#"{"reason":"compiler-artifact","target":{"name":"heapwood"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/release/other"}
{"reason":"compiler-artifact","target":{"name":"heapwood"},"executable":"/t/triple/release/heapwood"}
{"reason":"build-finished","success":true}"#;
        let built = Built(executables(said));
        assert_eq!(built.program("heapwood"), Ok("/t/triple/release/heapwood".into()));
        assert_eq!(built.program("other"), Ok("/t/release/other".into()));
        assert!(built.program("none").unwrap_err().contains("none"));
        assert!(executables("no JSON\n").is_empty());
    }
}
