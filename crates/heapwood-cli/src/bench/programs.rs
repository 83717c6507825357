//! What runs: a program with all it needs to be started again and again, and what it is called.

use super::build::Ready;
use super::children::Children;
use crate::args::Size;
use heapwood_report::CommandError;
use heapwood_report::legible::legible;
use heapwood_workloads::{IN_ARENAS, Workload};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Heapwood's own row.
pub(crate) const HEAPWOOD: &str = "heapwood";
/// Heapwood with as much memory as a peer.
pub(crate) const EQUAL_RSS: &str = "heapwood-equal-rss";

/// What a program is told of the size.
fn numbers(size: Size, threads: bool) -> impl Iterator<Item = OsString> {
    let threads = threads.then(|| ["--threads".into(), size.threads.to_string().into()]);
    std::iter::once(size.n.to_string().into()).chain(threads.into_iter().flatten())
}

/// How a program comes by a setting.
pub(crate) enum How {
    /// It reads this variable of its environment.
    Variable(&'static str, OsString),
    /// It was built with it.
    Executable(PathBuf),
}

/// A program that can be started.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) version: String,
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    /// Heapwood's growth percentage, if it is not the default.
    pub(crate) percent: Option<u32>,
    /// It asks for huge pages for nearly all its memory.
    pub(crate) huge_pages: bool,
    /// Without it nothing can be compared.
    pub(crate) essential: bool,
}

impl Program {
    /// This very command, running the workload as a peer would.
    pub(crate) fn heapwood(workload: &Workload, size: Size) -> Result<Program, CommandError> {
        let path = std::env::current_exe().map_err(|e| {
            CommandError::run(format!("this command does not find itself, to run it as a child: {e}"))
        })?;
        let mut args: Vec<OsString> = ["run", "--as-peer", workload.name].map(OsString::from).into();
        args.extend(numbers(size, true));
        let version = env!("CARGO_PKG_VERSION").into();
        // Heaps of objects take them only as they grow.
        let huge_pages = IN_ARENAS.iter().any(|other| other.name == workload.name);
        Ok(Program {
            name: HEAPWOOD.into(),
            version,
            path,
            args,
            env: Vec::new(),
            percent: None,
            huge_pages,
            essential: true,
        })
    }

    /// Heapwood with another setting.
    pub(crate) fn with(&self, name: String, setting: How) -> Program {
        let mut program = self.clone();
        program.name = name;
        match setting {
            How::Variable(key, value) => program.env.push((key.into(), value)),
            How::Executable(path) => program.path = path,
        }
        program
    }

    /// Heapwood with another growth percentage.
    pub(crate) fn with_percent(&self, percent: u32) -> Program {
        let mut program = self.clone();
        program.name = EQUAL_RSS.into();
        program.version = format!("{}, --percent {percent}", self.version);
        program.args.push(format!("--percent={percent}").into());
        program.percent = Some(percent);
        program.essential = false;
        program
    }

    /// A peer's program for the workload, asked for its version.
    pub(crate) fn peer(
        children: &Children,
        ready: &Ready<'_>,
        workload: &Workload,
        size: Size,
    ) -> Result<Program, CommandError> {
        let peer = ready.peer;
        let [file, args @ ..] = &peer.programs[workload.name][..] else {
            unreachable!("the manifest has no empty programs")
        };
        let mut program = Program {
            name: peer.name.clone(),
            version: String::new(),
            path: ready.folder.join(file),
            args: args.iter().map(OsString::from).collect(),
            env: peer.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            percent: None,
            huge_pages: peer.huge_pages.iter().any(|name| name == workload.name),
            essential: false,
        };
        let mut command = program.command();
        let asked = children.run(command.arg("--version"))?;
        let asked = asked.map_err(|e| program.failed(e))?;
        if let Some(why) = asked.failure() {
            return Err(program.failed(format!("--version: {why}")));
        }
        program.version = asked.stdout.trim().to_string();
        // Programs of a workload that has one thread take no number of them.
        program.args.extend(numbers(size, peer.threads && workload.threads.most > 1));
        Ok(program)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).envs(self.env.iter().map(|(k, v)| (k, v)));
        command
    }

    /// What is said if it cannot be run, or not to a good end.
    pub(crate) fn failed(&self, why: impl std::fmt::Display) -> CommandError {
        CommandError::run(format!("{} ({}) failed: {why}", self.name, legible(&self.path)))
    }
}
