//! The programs: each with its name and everything that is needed to start it repeatedly.

use super::build::Ready;
use super::children::Children;
use crate::args::Size;
use heapwood_report::CommandError;
use heapwood_report::legible::legible;
use heapwood_workloads::Workload;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Heapwood's own row.
const HEAPWOOD: &str = "heapwood";

/// A program's arguments for the size.
fn numbers(size: Size, threads: bool) -> impl Iterator<Item = OsString> {
    let threads = threads.then(|| ["--threads".into(), size.threads.to_string().into()]);
    std::iter::once(size.n.to_string().into()).chain(threads.into_iter().flatten())
}

/// The way in which a program gets a setting.
pub(crate) enum SettingBy {
    /// By this environment variable.
    Variable(&'static str, OsString),
    /// At build time.
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
    /// Without it nothing can be compared.
    pub(crate) essential: bool,
}

impl Program {
    /// This command, running the workload as a peer does.
    pub(crate) fn heapwood(workload: &Workload, size: Size) -> Result<Program, CommandError> {
        let path = std::env::current_exe().map_err(|e| {
            CommandError::run(format!("the path of this command is unknown, so it cannot run itself: {e}"))
        })?;
        let mut args: Vec<OsString> = ["run", "--as-peer", workload.name].map(OsString::from).into();
        args.extend(numbers(size, true));
        let version = env!("CARGO_PKG_VERSION").into();
        Ok(Program { name: HEAPWOOD.into(), version, path, args, env: Vec::new(), essential: true })
    }

    /// Heapwood with another setting.
    pub(crate) fn with(&self, name: String, setting: SettingBy) -> Program {
        let mut program = self.clone();
        program.name = name;
        match setting {
            SettingBy::Variable(key, value) => program.env.push((key.into(), value)),
            SettingBy::Executable(path) => program.path = path,
        }
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
            essential: false,
        };
        let mut command = program.command();
        let asked = children.run(command.arg("--version"))?;
        let asked = asked.map_err(|e| program.failed(e))?;
        if let Some(why) = asked.failure() {
            return Err(program.failed(format!("--version: {why}")));
        }
        program.version = asked.stdout.trim().to_string();
        // Programs of a workload with one thread take no --threads.
        program.args.extend(numbers(size, peer.threads && workload.threads.most > 1));
        Ok(program)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).envs(self.env.iter().map(|(k, v)| (k, v)));
        command
    }

    /// The error if it cannot be run, or fails.
    pub(crate) fn failed(&self, why: impl std::fmt::Display) -> CommandError {
        CommandError::run(format!("{} ({}) failed: {why}", self.name, legible(&self.path)))
    }
}
