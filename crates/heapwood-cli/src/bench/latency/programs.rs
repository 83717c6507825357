//! The programs: each with its name, and how it is started for a size and given its memory.

use super::super::build::{Ready, Skipped};
use super::super::children::Children;
use super::super::manifest::{LATENCY, MemoryBy};
use super::super::programs::HEAPWOOD;
use super::super::variable::appended;
use heapwood_gc::{OptionInfo, VARIABLE};
use heapwood_report::CommandError;
use heapwood_workloads::latency::Setup;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// A program that can be started.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) version: String,
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    pub(crate) memory: MemoryBy,
    /// Heapwood: without it nothing can be compared.
    pub(crate) ours: bool,
}

/// The memory that a program is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Itself,
    Gogc(u32),
    HeapMib(u64),
}

/// The option of heaps that switches marking beside the program.
const OPTION: &str = "concurrent";

/// Heapwood with and without marking beside the program. If heaps have no such option, Heapwood as it is, and the row that
/// is missing, with the reason.
pub(crate) fn heapwoods() -> Result<(Vec<Program>, Option<Skipped>), CommandError> {
    let path = std::env::current_exe().map_err(|e| {
        CommandError::run(format!("the path of this command is unknown, so it cannot run itself: {e}"))
    })?;
    let program = |name: String, setting: Option<String>| Program {
        name,
        version: env!("CARGO_PKG_VERSION").into(),
        path: path.clone(),
        args: ["bench", LATENCY, "--as-peer"].map(OsString::from).into(),
        env: setting.iter().map(|s| (VARIABLE.into(), appended(std::env::var_os(VARIABLE), s))).collect(),
        memory: MemoryBy::Itself,
        ours: true,
    };
    let name = |value: &str| format!("{HEAPWOOD}-{value}");
    if OptionInfo::find(OPTION).is_none() {
        let why = format!(
            "heaps of this version have no option {OPTION}: {HEAPWOOD} marks while threads are stopped"
        );
        return Ok((vec![program(HEAPWOOD.into(), None)], Some(Skipped { name: name("auto"), why })));
    }
    let both = ["auto", "off"].map(|value| program(name(value), Some(format!("{OPTION}={value}"))));
    Ok((both.into(), None))
}

impl Program {
    /// A peer's program, asked for its version. The inner error says why it cannot run.
    pub(crate) fn peer(
        children: &Children,
        ready: &Ready<'_>,
    ) -> Result<Result<Program, String>, CommandError> {
        let peer = ready.peer;
        let [file, args @ ..] = &peer.programs[LATENCY][..] else {
            unreachable!("the manifest has no empty programs")
        };
        let mut program = Program {
            name: peer.name.clone(),
            version: String::new(),
            path: ready.folder.join(file),
            args: args.iter().map(OsString::from).collect(),
            env: peer.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            memory: peer.memory,
            ours: false,
        };
        let mut command = Command::new(&program.path);
        command.args(&program.args).arg("--version").envs(program.env.iter().map(|(k, v)| (k, v)));
        let asked = match children.run(&mut command)? {
            Ok(asked) => asked,
            Err(e) => return Ok(Err(format!("it cannot be started: {e}"))),
        };
        if let Some(why) = asked.failure() {
            return Ok(Err(format!("--version: {why}")));
        }
        program.version = asked.stdout.trim().to_string();
        Ok(Ok(program))
    }

    /// The command for a run.
    pub(crate) fn command(&self, setup: Setup, memory: Memory) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).envs(self.env.iter().map(|(k, v)| (k, v)));
        let Setup { live_bytes, ms, threads, depth } = setup;
        if self.ours {
            command.arg(format!("--live={live_bytes}")).arg(format!("--seconds={}", ms as f64 / 1e3));
            command.arg(format!("--threads={threads}")).arg(format!("--depth={depth}"));
        } else {
            command.args([live_bytes, ms, threads.into(), depth].map(|number| number.to_string()));
        }
        match memory {
            Memory::Itself => {}
            Memory::Gogc(percent) => drop(command.env("GOGC", percent.to_string())),
            Memory::HeapMib(mib) => drop(command.env("PEER_HEAP_MIB", mib.to_string())),
        }
        command
    }
}
