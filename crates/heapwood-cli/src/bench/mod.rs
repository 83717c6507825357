//! `heapwood bench`: a workload on Heapwood and on its peers, in turn in one run. Only programs that did the same work
//! are compared: every program's check values must equal those of the first, in every round. With `--ab` the programs are
//! Heapwood with two values of a setting.
//!
//! | module | content |
//! |---|---|
//! | `manifest` | the list of peers, from the sources' `peers.toml` |
//! | `build` | building the peers that can be built here |
//! | `programs` | the programs: Heapwood and the chosen peers, ready to start |
//! | `ab` | Heapwood with one setting and with another |
//! | `own_build` | this command, built with and without a prefetch |
//! | `children` | processes: started, measured, ended with this command |
//! | `measured` | the result of a run |
//! | `rounds` | the programs in turn, and the cost of each run |
//! | `report` | the report, and its JSON |
//! | `tables` | its tables |
//! | `plot` | its picture |

mod ab;
mod build;
pub(crate) mod children;
mod manifest;
mod measured;
mod own_build;
mod plot;
mod programs;
mod report;
mod rounds;
mod tables;

use crate::args::{Bench, Size};
use crate::room::check_size;
use build::Skipped;
use children::Children;
use heapwood_report::CommandError;
use heapwood_report::Progress;
use heapwood_report::legible::complain;
use heapwood_report::output::{check_writable, json, write_picture};
use manifest::{Manifest, Peer};
use programs::Program;
use report::Report;

pub(crate) fn run(args: &Bench) -> Result<(), CommandError> {
    let (workload, size) = (args.what.workload()?, args.what.size()?);
    check_size(workload, size, None)?;
    if let Some(path) = &args.plot {
        check_writable(path, "picture")?;
    }
    let (children, bar) = (Children::new()?, Progress::new());
    let (programs, skipped) = match &args.ab {
        Some(ab) => (ab::programs(args, ab, &children, &bar, size)?, Vec::new()),
        None => with_peers(args, &children, size)?,
    };
    let mut rounds = rounds::Rounds::new(&children, &bar, workload, programs);
    rounds.warm_up()?;
    rounds.measure(args.runs)?;
    bar.finish();

    let report = Report::new(args, size, &rounds, skipped)?;
    if let Some(path) = &args.plot {
        write_picture(path, plot::draw(&report))?;
    }
    match args.json {
        true => json(&report)?,
        false => tables::print(&report),
    }
    report.failure().map_or(Ok(()), Err)
}

/// Heapwood and the chosen peers that can be built, and the others.
fn with_peers(
    args: &Bench,
    children: &Children,
    size: Size,
) -> Result<(Vec<Program>, Vec<Skipped>), CommandError> {
    let (workload, asked) = (args.what.workload()?, args.peers());
    // Without peers their sources need not exist.
    let manifest = match asked.as_deref() {
        Some([]) => Manifest::empty(),
        _ => Manifest::load(args.peers_dir.as_deref())?,
    };
    let chosen = manifest.choose(workload.name, asked.as_deref())?;
    let (chosen, of_one_thread): (Vec<&Peer>, Vec<&Peer>) =
        chosen.into_iter().partition(|peer| peer.threads || size.threads == 1);
    if chosen.is_empty() && of_one_thread.is_empty() && asked.is_none() {
        complain(format_args!("no peer has {}: Heapwood runs alone", workload.name));
    }
    let mut built = build::build(children, &manifest, &chosen, args.build_dir.as_deref())?;
    built.skipped.extend(of_one_thread.into_iter().map(Skipped::of_one_thread));
    for skipped in &built.skipped {
        complain(format_args!("skipped: {}: {}", skipped.name, skipped.why));
    }
    let mut programs = vec![Program::heapwood(workload, size)?];
    for ready in &built.ready {
        programs.push(Program::peer(children, ready, workload, size)?);
    }
    Ok((programs, built.skipped))
}
