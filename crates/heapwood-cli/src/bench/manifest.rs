//! The list of peers: `peers.toml` in the folder of their sources. It names the build unit of each, and the program for
//! each workload. Only this module knows its format.

use crate::args::NO_PEER;
use heapwood_report::CommandError;
use heapwood_report::legible::legible;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The peers' sources when this command was built.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../peers");

/// The peers, in the order of the tables.
pub(crate) struct Manifest {
    pub(crate) folder: PathBuf,
    peers: Vec<Peer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    peer: Vec<Peer>,
}

/// A memory manager with its programs.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) about: String,
    /// Its unit for `make`; peers may share one.
    pub(crate) unit: String,
    /// Whether its programs take `--threads T` after N, except for workloads of one thread.
    #[serde(default)]
    pub(crate) threads: bool,
    /// By workload: a program, and the arguments before N.
    pub(crate) programs: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
}

impl Peer {
    /// `java` stands for `java-serial` and `java-parallel`.
    fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    fn is_of_family(&self, name: &str) -> bool {
        self.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
    }
}

impl Manifest {
    pub(crate) fn load(folder: Option<&Path>) -> Result<Manifest, CommandError> {
        let given = folder.is_some();
        let folder = folder.unwrap_or(Path::new(SOURCES));
        let path = folder.join("peers.toml");
        let text = std::fs::read_to_string(&path).map_err(|e| {
            let hint = if given { "" } else { "; --peers-dir DIR says where the peers' sources are now" };
            CommandError::run(format!("the list of peers {} cannot be read: {e}{hint}", legible(&path)))
        })?;
        let wrong =
            |why: &dyn std::fmt::Display| CommandError::run(format!("{} is wrong: {why}", legible(&path)));
        let file: File = toml::from_str(&text).map_err(|e| wrong(&e))?;
        for (k, peer) in file.peer.iter().enumerate() {
            if peer.programs.values().any(Vec::is_empty) {
                return Err(wrong(&format!("{} has an empty program", peer.name)));
            }
            if peer.name == NO_PEER || file.peer[..k].iter().any(|other| other.name == peer.name) {
                return Err(wrong(&format!("{} cannot be the name of another peer", peer.name)));
            }
        }
        Ok(Manifest { folder: folder.to_path_buf(), peers: file.peer })
    }

    /// No peers.
    pub(crate) fn empty() -> Manifest {
        Manifest { folder: PathBuf::new(), peers: Vec::new() }
    }

    /// The peers with the workload: all, or the requested ones.
    pub(crate) fn choose(
        &self,
        workload: &str,
        asked: Option<&[String]>,
    ) -> Result<Vec<&Peer>, CommandError> {
        let able: Vec<&Peer> = self.peers.iter().filter(|p| p.programs.contains_key(workload)).collect();
        let Some(asked) = asked else { return Ok(able) };
        let mut wanted = Vec::new();
        for name in asked {
            let exact = able.iter().filter(|p| p.is_called(name)).count() > 0;
            let found = wanted.len();
            let meant = |p: &&&Peer| if exact { p.is_called(name) } else { p.is_of_family(name) };
            wanted.extend(able.iter().filter(meant).map(|p| p.name.as_str()));
            if wanted.len() == found {
                return Err(self.unknown(name, workload, &able));
            }
        }
        Ok(able.into_iter().filter(|p| wanted.contains(&p.name.as_str())).collect())
    }

    fn unknown(&self, name: &str, workload: &str, able: &[&Peer]) -> CommandError {
        let exists = self.peers.iter().any(|p| p.is_called(name) || p.is_of_family(name));
        let mut message = match exists {
            true => format!("the peer {name} has no {workload}; those that have it:"),
            false => format!("there is no peer {}; those that have {workload}:", legible(name)),
        };
        for peer in able {
            message += &format!("\n  {:<14} {}", peer.name, peer.about);
        }
        CommandError::usage(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chosen: Result<Vec<&Peer>, CommandError>) -> Vec<&str> {
        chosen.unwrap().iter().map(|p| p.name.as_str()).collect()
    }

    fn list(names: &str) -> Vec<String> {
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn the_real_list_of_peers_is_valid() {
        let manifest = Manifest::load(None).unwrap();
        for workload in heapwood_workloads::ALL {
            // A machine for Lox is written once for each memory manager of Rust, and for none of another language.
            let least = if workload.name == "lox" { 2 } else { 4 };
            assert!(manifest.choose(workload.name, None).unwrap().len() >= least, "{}", workload.name);
        }
        assert!(manifest.peers.iter().any(|p| p.threads) && manifest.peers.iter().any(|p| !p.threads));
        for peer in &manifest.peers {
            // Trees in arenas are not a workload of the list yet.
            for workload in peer.programs.keys() {
                assert!(heapwood_workloads::Workload::find(workload).is_some(), "{}: {workload}", peer.name);
            }
        }
    }

    #[test]
    fn peers_are_chosen_by_name_and_by_family() {
        let manifest = Manifest::load(None).unwrap();
        let choose = |asked: &str| manifest.choose("trees", Some(&list(asked)));
        assert_eq!(names(choose("bump,go")), ["go", "bump"]);
        assert_eq!(names(choose("java")), ["java-serial", "java-parallel"]);
        assert_eq!(names(choose("libgc,libgc-many")), ["libgc", "libgc-many"]);
        assert!(names(choose("")).is_empty());
        let message = choose("go,python").unwrap_err().message;
        assert!(message.contains("no peer python") && message.contains("java-serial"), "{message}");
        let latency = |asked: &str| manifest.choose("latency", Some(&list(asked)));
        assert_eq!(names(latency("java,mimalloc")), ["mimalloc", "java-zgc", "java-shenandoah"]);
        assert!(latency("ocaml").unwrap_err().message.contains("ocaml has no latency"));
        let message = manifest.choose("mark", Some(&list("mimalloc"))).unwrap_err().message;
        assert!(message.contains("mimalloc has no mark") && message.contains("libgc"), "{message}");
    }
}
