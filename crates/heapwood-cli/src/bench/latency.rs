//! `heapwood bench latency`: the gaps that threads see in their own work, at several sizes of a cache, on Heapwood and on
//! other memory managers with as much memory. Only programs that did the same work are compared: the checksum of each
//! program's first steps must equal Heapwood's.
//!
//! | module | content |
//! |---|---|
//! | `own` | Heapwood's program, in this process |
//! | `programs` | the programs, ready to start |
//! | `rounds` | the programs in turn, at each size |
//! | `summary` | the figures of a run |
//! | `utilisation` | the minimum mutator utilisation |
//! | `tables` | the tables |
//! | `tsv` | a line for each run |
//! | `warm` | memory that was touched before a run |
//! | `picture` | gaps, CPU time and memory over the size |

mod own;
mod picture;
mod programs;
mod rounds;
mod summary;
mod tables;
mod tsv;
mod utilisation;
mod warm;

use super::build::{self, Skipped};
use super::children::Children;
use super::manifest::{LATENCY, Manifest};
use crate::args::{Latency, NO_PEER};
use heapwood_report::header::shell_word;
use heapwood_report::legible::complain;
use heapwood_report::output::{check_writable, write_file, write_picture};
use heapwood_report::size::exact;
use heapwood_report::{CommandError, Header, Progress};
use heapwood_workloads::latency::Setup;
use programs::Program;
use rounds::Report;

pub(crate) fn run(args: &Latency) -> Result<(), CommandError> {
    if args.as_peer {
        return own::run(args);
    }
    let setups = setups(args);
    setups.iter().try_for_each(|setup| own::check_room(*setup))?;
    for (path, what) in [(&args.tsv, "table"), (&args.svg, "picture")] {
        path.as_deref().map_or(Ok(()), |path| check_writable(path, what))?;
    }
    let asked = asked(args);
    let manifest = match asked.as_deref() {
        Some([]) => Manifest::empty(),
        _ => Manifest::load(args.peers_dir.as_deref())?,
    };
    let chosen = manifest.choose(LATENCY, asked.as_deref())?;
    let children = Children::new()?;
    let built = build::build(&children, &manifest, &chosen, args.build_dir.as_deref())?;
    let (mut programs, missing) = programs::heapwoods()?;
    let mut skipped: Vec<Skipped> = missing.into_iter().chain(built.skipped).collect();
    for ready in &built.ready {
        match Program::peer(&children, ready)? {
            Ok(program) => programs.push(program),
            Err(why) => skipped.push(Skipped { name: ready.peer.name.clone(), why }),
        }
    }
    for Skipped { name, why } in &skipped {
        complain(format_args!("skipped: {name}: {why}"));
    }

    let bar = Progress::new();
    let mut report = Report::new(skipped);
    for &setup in &setups {
        report.add(rounds::measure(&children, &bar, &programs, setup, args)?);
    }
    bar.finish();
    report.header = Some(Header::now(command(args), args.runs));
    if let Some(path) = &args.tsv {
        write_file(path, "table", tsv::write(&report))?;
    }
    if let Some(path) = &args.svg {
        write_picture(path, picture::draw(&report))?;
    }
    tables::print(&report);
    report.failure().map_or(Ok(()), Err)
}

/// The requested peers, if not all.
fn asked(args: &Latency) -> Option<Vec<String>> {
    let names = args.peers.as_ref()?.iter().map(|name| name.trim().to_string());
    Some(names.filter(|name| !matches!(name.as_str(), NO_PEER | "")).collect())
}

/// Every combination, by threads, depth and size.
fn setups(args: &Latency) -> Vec<Setup> {
    let mut all = Vec::new();
    for &threads in &args.threads {
        for &depth in &args.depth {
            for &live_bytes in &args.live {
                let setup = Setup { live_bytes, ms: args.seconds, threads, depth };
                if !all.contains(&setup) {
                    all.push(setup);
                }
            }
        }
    }
    all
}

/// The command for the same measurement, quoted for a shell.
fn command(args: &Latency) -> String {
    let list = |words: Vec<String>| words.join(",");
    let peers = asked(args).map_or(String::new(), |names| {
        let names = if names.is_empty() { NO_PEER.into() } else { names.join(",") };
        format!(" --peers {}", shell_word(&names))
    });
    let gogc = args.gogc.map_or(String::new(), |percent| format!(" --gogc {percent}"));
    // Without the blank, it is one word.
    let live = list(args.live.iter().map(|&bytes| exact(bytes as usize).replace(' ', "")).collect());
    format!(
        "heapwood bench latency --live {live} --threads {} --depth {} --seconds {} --runs {}{peers}{gogc}",
        list(args.threads.iter().map(u32::to_string).collect()),
        list(args.depth.iter().map(u64::to_string).collect()),
        args.seconds as f64 / 1e3,
        args.runs
    )
}
