//! `heapwood bench vm`: the example virtual machine of the C library, compiled for Heapwood, for its own mark-sweep collector and for
//! libgc, program by program, in turn.

use super::build::Skipped;
use super::children::Children;
use super::turns::{Contestant, in_turn};
use super::variable::appended;
use super::{own_build, sources};
use crate::args::Vm;
use heapwood_report::legible::{complain, legible};
use heapwood_report::tables::table;
use heapwood_report::{CommandError, Header, Progress, say};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs in examples/vm and their sizes, of about a second on libgc.
const PROGRAMS: [(&str, u64); 9] = [
    ("trees", 16),
    ("map", 100_000),
    ("fibers", 20_000),
    ("closures", 300_000),
    ("strings", 200_000),
    ("methods", 3_000_000),
    ("fib", 32),
    ("collect", 7_000),
    ("buffers", 30_000),
];
/// The sizes of these are depths: they are not divided.
const DEPTHS: [&str; 2] = ["trees", "fib"];

/// Some programs look at their 30th object.
const LEAST: u64 = 50;

/// A heap that the virtual machine is compiled for.
struct Way {
    name: &'static str,
    flags: &'static [&'static str],
    /// It is linked with Heapwood's library.
    ours: bool,
    /// A setting in the variable HEAPWOOD. All have one, since the length of the environment moves the stack: without that, a program
    /// that allocates nothing took 6 % more or less.
    setting: &'static str,
}

const AUTO: &str = "generational=auto";

const WAYS: [Way; 5] = [
    Way { name: "heapwood", flags: &[], ours: true, setting: AUTO },
    Way { name: "heapwood-old", flags: &[], ours: true, setting: "generational=off" },
    Way { name: "turned", flags: &["-DTURNED"], ours: true, setting: AUTO },
    Way { name: "own", flags: &["-DOWN_GC"], ours: false, setting: AUTO },
    Way { name: "libgc", flags: &["-DLIBGC", "-lgc"], ours: false, setting: AUTO },
];

/// A way that was compiled.
struct Built {
    way: &'static Way,
    program: PathBuf,
}

pub(crate) fn run(args: &Vm) -> Result<(), CommandError> {
    let programs = chosen(args)?;
    let sources = sources::check().map_err(CommandError::run)?.join("crates/heapwood-c");
    let library = library(args.library.as_deref())?;
    let children = Children::new()?;
    let folder = own_build::folder().join("vm");
    std::fs::create_dir_all(&folder)
        .map_err(|e| CommandError::run(format!("{} cannot be made: {e}", legible(&folder))))?;
    let (mut built, mut skipped) = (Vec::new(), Vec::new());
    for way in &WAYS {
        match compile(&children, way, &sources, &library, &folder)? {
            Ok(program) => built.push(Built { way, program }),
            Err(why) if way.ours => return Err(CommandError::run(why)),
            Err(why) => skipped.push(Skipped { name: way.name.into(), why }),
        }
    }
    for Skipped { name, why } in &skipped {
        complain(format_args!("skipped: {name}: {why}"));
    }

    let bar = Progress::new();
    bar.expect(programs.len() as u64 * built.len() as u64 * u64::from(args.runs));
    let names: Vec<&str> = built.iter().map(|built| built.way.name).collect();
    let mut rows = table(&[&["program", "size"], names.as_slice()].concat());
    for &(name, size) in &programs {
        let source = sources.join("examples/vm").join(format!("{name}.vm"));
        let size = if DEPTHS.contains(&name) { size } else { (size / args.smaller).max(LEAST) };
        let contestants: Vec<Contestant<'_>> = built
            .iter()
            .map(|built| Contestant {
                name: built.way.name,
                command: Box::new(|| command(built, &source, size)),
            })
            .collect();
        let costs = in_turn(&children, &bar, &legible(&source).to_string(), &contestants, args.runs)?;
        let cells = costs.iter().map(|cost| cost.cell(&costs[0]));
        rows.add_row([name.to_string(), size.to_string()].into_iter().chain(cells));
    }
    bar.finish();
    let smaller = if args.smaller == 1 { String::new() } else { format!(" --smaller {}", args.smaller) };
    let only =
        args.programs.as_ref().map_or(String::new(), |names| format!(" --programs {}", names.join(",")));
    say!("{}", Header::now(format!("heapwood bench vm --runs {}{smaller}{only}", args.runs), args.runs));
    say!("");
    say!("{rows}");
    Ok(())
}

/// The programs to run.
fn chosen(args: &Vm) -> Result<Vec<(&'static str, u64)>, CommandError> {
    let Some(names) = &args.programs else { return Ok(PROGRAMS.to_vec()) };
    let find = |name: &String| {
        PROGRAMS.iter().copied().find(|(program, _)| program == name).ok_or_else(|| {
            let all = PROGRAMS.map(|(program, _)| program).join(", ");
            CommandError::usage(format!("the virtual machine has no program {name}: it has {all}"))
        })
    };
    names.iter().map(find).collect()
}

/// Heapwood's library for C programs.
fn library(given: Option<&Path>) -> Result<PathBuf, CommandError> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("libheapwood.a"));
    let path = given.map(Path::to_path_buf).or_else(beside).unwrap_or_default();
    match path.is_file() {
        true => Ok(path),
        false => Err(CommandError::run(format!(
            "{} does not exist; make it: cargo build --release -p heapwood-c, or name another with --library",
            legible(&path)
        ))),
    }
}

/// Compiles the virtual machine. The inner error says why it cannot be.
fn compile(
    children: &Children,
    way: &Way,
    sources: &Path,
    library: &Path,
    folder: &Path,
) -> Result<Result<PathBuf, String>, CommandError> {
    let program = folder.join(way.name);
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&cc);
    command.args(["-std=c11", "-O2", "-DNDEBUG"]).arg(sources.join("examples/vm/vm.c"));
    command.arg("-I").arg(sources.join("include")).args(way.flags);
    if way.ours {
        command.arg(library).args(["-lpthread", "-ldl"]);
    }
    command.arg("-lm").arg("-o").arg(&program);
    Ok(match children.run(&mut command)? {
        Err(e) => Err(format!("{} cannot be started: {e}; install gcc, or set CC", cc.display())),
        Ok(made) => match made.failure() {
            Some(_) if !way.ours && made.stderr.contains("gc.h") => Err("libgc-dev is not installed".into()),
            Some(why) => Err(format!("it cannot be compiled: {why}")),
            None => Ok(program),
        },
    })
}

/// A run of a program.
fn command(built: &Built, source: &Path, size: u64) -> Command {
    let mut command = Command::new(&built.program);
    command.arg(source).arg(size.to_string());
    command.env("HEAPWOOD", appended(std::env::var_os("HEAPWOOD"), built.way.setting));
    command
}
