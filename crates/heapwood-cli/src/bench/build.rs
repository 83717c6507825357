//! Builds the peers that can be built here. Their Makefile knows how, and what is missing. It runs every time, so that
//! no outdated program is measured, and does nothing if all is up to date.

use super::children::Children;
use super::manifest::{Manifest, Peer};
use heapwood_report::CommandError;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The peers that can run, and those that cannot.
pub(crate) struct PeerPrograms<'a> {
    pub(crate) ready: Vec<Ready<'a>>,
    pub(crate) skipped: Vec<Skipped>,
}

/// A peer whose programs are in the folder.
pub(crate) struct Ready<'a> {
    pub(crate) peer: &'a Peer,
    pub(crate) folder: PathBuf,
}

/// A peer that is skipped.
#[derive(Serialize, Clone, Debug)]
pub(crate) struct Skipped {
    pub(crate) name: String,
    /// What is missing, and what to install.
    pub(crate) why: String,
}

impl Skipped {
    /// A peer without support for several threads.
    pub(crate) fn of_one_thread(peer: &Peer) -> Skipped {
        Skipped { name: peer.name.clone(), why: "its programs have one thread: it takes no --threads".into() }
    }
}

const NO_MAKE: &str = "make, which builds the peers, is not on PATH; install the Debian package: make";

pub(crate) fn build<'a>(
    children: &Children,
    manifest: &Manifest,
    chosen: &[&'a Peer],
    folder: Option<&Path>,
) -> Result<PeerPrograms<'a>, CommandError> {
    let folder = folder.map_or_else(|| default_folder(&manifest.folder), Path::to_path_buf);
    let folder = std::path::absolute(&folder).map_err(CommandError::run)?;
    let reasons = make(children, manifest, chosen, &folder)?;
    let mut built = PeerPrograms { ready: Vec::new(), skipped: Vec::new() };
    for &peer in chosen {
        match reasons.why(&peer.unit) {
            Some(why) => built.skipped.push(Skipped { name: peer.name.clone(), why: why.into() }),
            None => built.ready.push(Ready { peer, folder: folder.clone() }),
        }
    }
    Ok(built)
}

/// The folder `peers` in the target folder that this command lies in, else in the one beside the sources.
pub(crate) fn default_folder(sources: &Path) -> PathBuf {
    let target = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.to_path_buf()));
    match target.filter(|target| target.join("CACHEDIR.TAG").exists()) {
        Some(target) => target.join("peers"),
        None => sources.join("../target/peers"),
    }
}

/// Why units cannot be built.
enum Reasons {
    NoMake,
    Units(Vec<(String, String)>),
}

impl Reasons {
    fn why(&self, unit: &str) -> Option<&str> {
        match self {
            Reasons::NoMake => Some(NO_MAKE),
            Reasons::Units(units) => units.iter().find(|(u, _)| u == unit).map(|(_, why)| why.as_str()),
        }
    }
}

fn make(
    children: &Children,
    manifest: &Manifest,
    chosen: &[&Peer],
    folder: &Path,
) -> Result<Reasons, CommandError> {
    let mut units: Vec<&str> = chosen.iter().map(|p| p.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    if units.is_empty() {
        return Ok(Reasons::Units(Vec::new()));
    }
    let mut command = Command::new("make");
    command.args(["--no-print-directory", "-s", "-C"]).arg(&manifest.folder);
    command.arg(format!("OUT={}", folder.display())).arg(format!("UNITS={}", units.join(" ")));
    // The variables of an outer make are not for this one.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    let made = match children.run(&mut command)? {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Reasons::NoMake),
        Err(e) => {
            return Err(CommandError::run(format!("make, which builds the peers, cannot be started: {e}")));
        }
        Ok(made) => made,
    };
    if let Some(why) = made.failure() {
        return Err(CommandError::run(format!("the peers could not be built: make: {why}")));
    }
    Ok(Reasons::Units(made.stdout.lines().filter_map(skipped).map(|(u, w)| (u.into(), w.into())).collect()))
}

/// The unit and the reason in `skipped: UNIT (REASON)`.
fn skipped(line: &str) -> Option<(&str, &str)> {
    let (unit, why) = line.strip_prefix("skipped: ")?.split_once(' ')?;
    Some((unit, why.strip_prefix('(')?.strip_suffix(')')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_make_are_parsed() {
        assert_eq!(skipped("skipped: go (needs Go (1.26))"), Some(("go", "needs Go (1.26)")));
        assert_eq!(skipped("gcc -O2"), None);
        assert_eq!(skipped("skipped: go"), None);
    }
}
