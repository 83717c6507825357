//! The command itself, built from its sources with and without a prefetch in allocation: each has its own target folder
//! beside the built peers, so that a second comparison uses the first build. cargo runs every time, as make does for
//! the peers, and does nothing if all is up to date.

use super::build::default_folder;
use super::children::Children;
use crate::settings::prefetch;
use heapwood_report::CommandError;
use heapwood_report::legible::legible;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The sources when this command was built.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The default folder for the builds.
pub(crate) fn folder() -> PathBuf {
    default_folder(&Path::new(SOURCES).join("peers"))
}

/// The command with this value of `prefetch`.
pub(crate) fn build(children: &Children, value: &str, folder: &Path) -> Result<PathBuf, CommandError> {
    let what = format!("{}={value}", prefetch::NAME);
    let sources = check_sources(Path::new(SOURCES)).map_err(|why| no_build(&what, &why))?;
    let target = folder.join(format!("{}-{value}", prefetch::NAME));
    let flags = extended(std::env::var_os("RUSTFLAGS"), &prefetch::flags(value));
    // It takes a minute, or several on a busy machine, without other output.
    let began = Instant::now();
    eprintln!("building heapwood with {what} (a minute or more the first time) ..");
    let built = match children.run(&mut command(sources, &target, flags))? {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(no_build(&what, "cargo is not on PATH; install Rust with rustup, https://rustup.rs"));
        }
        Err(e) => return Err(no_build(&what, &format!("cargo cannot be started: {e}"))),
        Ok(built) => built,
    };
    if let Some(why) = built.failure() {
        return Err(no_build(&what, &format!("cargo: {why}")));
    }
    eprintln!("built heapwood with {what} in {:.0} s", began.elapsed().as_secs_f64());
    executable(&built.stdout).ok_or_else(|| no_build(&what, "cargo did not say where it put the command"))
}

fn no_build(what: &str, why: &str) -> CommandError {
    CommandError::run(format!("heapwood with {what} could not be built: {why}"))
}

fn check_sources(folder: &Path) -> Result<&Path, String> {
    match folder.join("crates/heapwood-cli/Cargo.toml").exists() {
        true => Ok(folder),
        false => Err(format!(
            "the sources that this command was built from are no longer in {}; build it where they are now: cargo build \
             --release",
            legible(folder)
        )),
    }
}

fn command(sources: &Path, target: &Path, flags: OsString) -> Command {
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--package", "heapwood-cli", "--message-format"]);
    command.args(["json-render-diagnostics", "--target-dir"]).arg(target);
    command.current_dir(sources).env("RUSTFLAGS", flags);
    // It would override RUSTFLAGS.
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// The user's flags, and this one.
fn extended(given: Option<OsString>, flags: &str) -> OsString {
    match given {
        Some(mut given) if !given.is_empty() => {
            given.push(" ");
            given.push(flags);
            given
        }
        _ => flags.into(),
    }
}

/// The path of the command, from cargo's output: it depends on cargo's configuration.
fn executable(said: &str) -> Option<PathBuf> {
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut built = messages.filter(|message| message["target"]["name"] == "heapwood");
    built.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn cargo_gets_the_setting_and_the_folder() {
        let flags = extended(None, &prefetch::flags("object"));
        let command = command(Path::new("/sources"), Path::new("/built/prefetch-object"), flags);
        let args: Vec<&str> = command.get_args().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(command.get_program(), "cargo");
        assert_eq!(args[..4], ["build", "--release", "--package", "heapwood-cli"]);
        assert!(args.ends_with(&["--target-dir", "/built/prefetch-object"]), "{args:?}");
        assert_eq!(command.get_current_dir(), Some(Path::new("/sources")));
        let flags = command.get_envs().find(|(key, _)| *key == "RUSTFLAGS").unwrap().1;
        assert_eq!(flags, Some(OsStr::new("--cfg heapwood_prefetch=\"object\"")));
    }

    #[test]
    fn the_users_flags_stay() {
        assert_eq!(extended(Some("-C target-cpu=native".into()), "--cfg x"), "-C target-cpu=native --cfg x");
        assert_eq!(extended(Some("".into()), "--cfg x"), "--cfg x");
    }

    #[test]
    fn missing_sources_are_named() {
        let why = check_sources(Path::new("/no/such/folder")).unwrap_err();
        assert!(why.contains("/no/such/folder") && why.contains("cargo build --release"), "{why}");
        assert!(check_sources(Path::new(SOURCES)).is_ok());
    }

    #[test]
    fn the_built_command_is_found_in_cargos_messages() {
        let said = r#"{"reason":"compiler-artifact","target":{"name":"heapwood"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/release/other"}
{"reason":"compiler-artifact","target":{"name":"heapwood"},"executable":"/t/triple/release/heapwood"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(said), Some("/t/triple/release/heapwood".into()));
        assert_eq!(executable("no JSON\n"), None);
    }
}
