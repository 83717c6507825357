//! `heapwood bench rust`: programs in each way to use the crate, with counted memory and with other collectors for Rust, in turn.

use super::build::Skipped;
use super::children::Children;
use super::rust_report::{Report, Row, Way as Named};
use super::turns::{Contestant, in_turn};
use super::{cargo, own_build, sources};
use crate::args::Rust;
use heapwood_report::legible::complain;
use heapwood_report::output::json;
use heapwood_report::{CommandError, Header, Progress};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// A text for the virtual machine of examples/lox.
    Lox,
    /// One of examples/small, which the peers have, too.
    Small,
}

/// How a size becomes smaller.
#[derive(Clone, Copy)]
enum Scale {
    Count,
    Depth,
}

struct Program {
    name: &'static str,
    family: Family,
    size: u64,
    scale: Scale,
    /// The smallest size that is of use.
    least: u64,
}

const fn lox(name: &'static str, size: u64, scale: Scale) -> Program {
    Program { name, family: Family::Lox, size, scale, least: 5 }
}

const fn small(name: &'static str, size: u64, scale: Scale) -> Program {
    Program { name, family: Family::Small, size, scale, least: 6 }
}

/// What the names of programs for the machine begin with.
const LOX: &str = "lox-";

const PROGRAMS: [Program; 9] = [
    small("trees", 18, Scale::Depth),
    small("tables", 1_000_000, Scale::Count),
    lox("lox-fib", 32, Scale::Depth),
    lox("lox-trees", 17, Scale::Depth),
    lox("lox-tables", 200_000, Scale::Count),
    lox("lox-strings", 1_000_000, Scale::Count),
    lox("lox-closures", 1_000_000, Scale::Count),
    lox("lox-methods", 5_000_000, Scale::Count),
    lox("lox-sort", 200_000, Scale::Count),
];

impl Program {
    fn size(&self, smaller: u64) -> u64 {
        let size = match self.scale {
            Scale::Count => self.size / smaller,
            Scale::Depth => self.size.saturating_sub(smaller.ilog2().into()),
        };
        size.max(self.least)
    }
}

/// A way to manage memory: one of ours, or a peer.
struct Way {
    name: &'static str,
    /// Of our own, what it is.
    ours: Option<&'static str>,
}

const WAYS: [Way; 7] = [
    Way { name: "plain", ours: Some("Heap and Gc: one unsafe") },
    Way { name: "session", ours: Some("Session: nothing unsafe") },
    Way { name: "scanned", ours: Some("Heap and Gc, and Scanned as the allocator") },
    Way { name: "rc", ours: Some("Rc and RefCell, Vec, HashMap") },
    Way { name: "gc-arena", ours: None },
    Way { name: "dumpster", ours: None },
    Way { name: "boa_gc", ours: None },
];

/// A way that was built.
struct Built {
    way: &'static Way,
    /// For the machine, if it has this way.
    lox: Option<PathBuf>,
    small: PathBuf,
    /// A peer's name is its first argument.
    argument: Option<&'static str>,
    /// What it is, with versions.
    what: String,
}

impl Built {
    fn has(&self, program: &Program) -> bool {
        program.family == Family::Small || self.lox.is_some()
    }

    /// A run of a program that it has.
    fn command(&self, program: &Program, size: u64, sources: &Path) -> Command {
        let mut command;
        match &self.lox {
            Some(machine) if program.family == Family::Lox => {
                let name = program.name.trim_start_matches(LOX);
                command = Command::new(machine);
                command.arg(sources.join("examples/lox/programs").join(format!("{name}.lox")));
            }
            _ => {
                command = Command::new(&self.small);
                command.args(self.argument).arg(program.name);
            }
        }
        command.arg(size.to_string());
        command
    }
}

/// A program, and the ways that have it.
struct Contest<'a> {
    program: &'static Program,
    size: u64,
    of: Vec<Contestant<'a>>,
}

impl<'a> Contest<'a> {
    fn new(program: &'static Program, smaller: u64, built: &'a [Built], sources: &'a Path) -> Self {
        let size = program.size(smaller);
        let contestant = |built: &'a Built| Contestant {
            name: built.way.name,
            command: Box::new(move || built.command(program, size, sources)),
        };
        Contest {
            program,
            size,
            of: built.iter().filter(|built| built.has(program)).map(contestant).collect(),
        }
    }
}

pub(crate) fn run(args: &Rust) -> Result<(), CommandError> {
    let programs = chosen(args)?;
    let sources = sources::check().map_err(CommandError::run)?;
    let children = Children::new()?;
    let mut built = ours(&children, sources)?;
    let mut skipped = Vec::new();
    // Not built for nothing.
    if programs.iter().any(|program| program.family == Family::Small) {
        match peers(&children, sources)? {
            Ok(peers) => built.extend(peers),
            Err(why) => {
                let peers = WAYS.iter().filter(|way| way.ours.is_none()).map(|way| way.name);
                skipped.push(Skipped { name: peers.collect::<Vec<_>>().join(", "), why });
            }
        }
    }
    for Skipped { name, why } in &skipped {
        complain(format_args!("skipped: {name}: {why}"));
    }

    let bar = Progress::new();
    let mut rows = Vec::new();
    let contests: Vec<Contest<'_>> =
        programs.iter().map(|program| Contest::new(program, args.smaller, &built, sources)).collect();
    bar.expect(contests.iter().map(|contest| contest.of.len() as u64 * u64::from(args.runs)).sum());
    for contest in &contests {
        let name = contest.program.name;
        let costs = in_turn(&children, &bar, name, &contest.of, args.runs)?;
        rows.push(Row::new(name, contest.size, contest.of.iter().map(|way| way.name).zip(&costs)));
    }
    bar.finish();

    let smaller = if args.smaller == 1 { String::new() } else { format!(" --smaller {}", args.smaller) };
    let only =
        args.programs.as_ref().map_or(String::new(), |names| format!(" --programs {}", names.join(",")));
    let command = format!("heapwood bench rust --runs {}{smaller}{only}", args.runs);
    let report = Report {
        header: Header::now(command, args.runs),
        ways: built.iter().map(|built| Named { name: built.way.name, what: built.what.clone() }).collect(),
        programs: rows,
        skipped,
    };
    if args.json {
        return json(&report);
    }
    report.print();
    Ok(())
}

/// The programs to run.
fn chosen(args: &Rust) -> Result<Vec<&'static Program>, CommandError> {
    let Some(names) = &args.programs else { return Ok(PROGRAMS.iter().collect()) };
    let find = |name: &String| {
        PROGRAMS.iter().find(|program| program.name == name).ok_or_else(|| {
            let all: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
            CommandError::usage(format!("there is no program {name}: there are {}", all.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

/// Builds our own ways.
fn ours(children: &Children, sources: &Path) -> Result<Vec<Built>, CommandError> {
    let mut command = cargo::release(sources, &own_build::folder().join("examples"));
    command.args(["--package", "heapwood-lox", "--package", "heapwood-small"]);
    let failed = |why: String| CommandError::run(format!("the examples could not be built: {why}"));
    let made = cargo::build(children, "the examples", &mut command)?.map_err(failed)?;
    let find = |way: &'static Way, what: &str| {
        Ok(Built {
            way,
            lox: Some(made.program(&format!("lox-{}", way.name))?),
            small: made.program(&format!("small-{}", way.name))?,
            argument: None,
            what: format!("heapwood {}, {what}", env!("CARGO_PKG_VERSION")),
        })
    };
    WAYS.iter().filter_map(|way| Some(find(way, way.ours?))).collect::<Result<_, _>>().map_err(failed)
}

/// Builds the peers, and asks for their versions. The inner error says why they are skipped.
fn peers(children: &Children, sources: &Path) -> Result<Result<Vec<Built>, String>, CommandError> {
    let mut command =
        cargo::release(&sources.join("peers/rust-gc"), &own_build::folder().join("rust-gc-build"));
    command.arg("--locked");
    let made = match cargo::build(children, "the peers of peers/rust-gc", &mut command)? {
        Ok(made) => made,
        Err(why) => {
            return Ok(Err(format!("needs the crates of peers/rust-gc from crates.io, once: {why}")));
        }
    };
    let small = match made.program("rust-gc-peer") {
        Ok(program) => program,
        Err(why) => return Ok(Err(why)),
    };
    let mut built = Vec::new();
    for way in WAYS.iter().filter(|way| way.ours.is_none()) {
        let failed = |why: String| CommandError::run(format!("{}: --version: {why}", way.name));
        let said = children.run(Command::new(&small).args([way.name, "--version"]))?;
        let said = said.map_err(|e| failed(e.to_string()))?;
        if let Some(why) = said.failure() {
            return Err(failed(why));
        }
        let (small, what) = (small.clone(), said.stdout.trim().to_string());
        built.push(Built { way, lox: None, small, argument: Some(way.name), what });
    }
    Ok(Ok(built))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_sizes_are_of_use() {
        for program in &PROGRAMS {
            assert_eq!(program.size(1), program.size);
            assert!(program.size(16) < program.size);
            assert!((program.least..=16).contains(&program.size(1_000_000)), "{}", program.name);
        }
    }

    #[test]
    fn programs_exist() {
        for program in PROGRAMS.iter().filter(|program| program.family == Family::Lox) {
            let name = program.name.strip_prefix(LOX).unwrap();
            let file = sources::folder().join(format!("examples/lox/programs/{name}.lox"));
            assert!(file.exists(), "{}", file.display());
        }
    }
}
