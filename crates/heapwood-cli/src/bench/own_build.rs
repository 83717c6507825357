//! The command itself, built from its sources with and without a prefetch in allocation: each has its own target folder
//! beside the built peers, so that a second comparison uses the first build.

use super::build::default_folder;
use super::cargo;
use super::children::Children;
use super::sources;
use crate::settings::prefetch;
use heapwood_report::CommandError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The default folder for the builds.
pub(crate) fn folder() -> PathBuf {
    default_folder(&sources::folder().join("peers"))
}

/// The command with this value of `prefetch`.
pub(crate) fn build(children: &Children, value: &str, folder: &Path) -> Result<PathBuf, CommandError> {
    let what = format!("{}={value}", prefetch::NAME);
    let sources = sources::check().map_err(|why| no_build(&what, &why))?;
    let target = folder.join(format!("{}-{value}", prefetch::NAME));
    let flags = extended(std::env::var_os("RUSTFLAGS"), &prefetch::flags(value));
    let built =
        cargo::build(children, &format!("heapwood with {what}"), &mut command(sources, &target, flags))?;
    built.and_then(|built| built.program("heapwood")).map_err(|why| no_build(&what, &why))
}

fn no_build(what: &str, why: &str) -> CommandError {
    CommandError::run(format!("heapwood with {what} could not be built: {why}"))
}

fn command(sources: &Path, target: &Path, flags: OsString) -> Command {
    let mut command = cargo::release(sources, target);
    command.args(["--package", "heapwood-cli"]).env("RUSTFLAGS", flags);
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
        assert_eq!(args[..2], ["build", "--release"]);
        let end = ["--target-dir", "/built/prefetch-object", "--package", "heapwood-cli"];
        assert!(args.ends_with(&end), "{args:?}");
        assert_eq!(command.get_current_dir(), Some(Path::new("/sources")));
        let flags = command.get_envs().find(|(key, _)| *key == "RUSTFLAGS").unwrap().1;
        assert_eq!(flags, Some(OsStr::new("--cfg heapwood_prefetch=\"object\"")));
    }

    #[test]
    fn the_users_flags_stay() {
        assert_eq!(extended(Some("-C target-cpu=native".into()), "--cfg x"), "-C target-cpu=native --cfg x");
        assert_eq!(extended(Some("".into()), "--cfg x"), "--cfg x");
    }
}
