//! `heapwood bench`: a workload on Heapwood and on its peers, in turn in one run. Only programs that did the same work
//! are compared: every program's check values must equal Heapwood's, in every round. With `--ab` the programs are
//! Heapwood with two values of a setting.
//!
//! | module | content |
//! |---|---|
//! | `manifest` | the list of peers, from the sources' `peers.toml` |
//! | `build` | building the peers that can be built here |
//! | `programs` | the programs: Heapwood and the chosen peers, ready to start |
//! | `children` | processes: started, measured, ended with this command |
//! | `measured` | the result of a run |
//! | `rounds` | the programs in turn, and the cost of each run |
//! | `huge_pages` | repeats runs that got too few huge pages |
//! | `equal_rss` | the growth percentage at which Heapwood's memory is a peer's |
//! | `report` | the report, and its JSON |
//! | `tables` | its tables |
//! | `plot` | its picture |
//! | `quantity` | the quantities of a run |
//! | `gobench` | the runs, for benchstat |
//! | `ab` | Heapwood with one setting and with another |
//! | `ab_report` | the report of the comparison, and its JSON |
//! | `ab_table` | its tables |
//! | `own_build` | this command, built with and without a prefetch |
//! | `sources` | the sources that this command was built from |
//! | `variable` | the variable HEAPWOOD of a child |
//! | `latency` | `heapwood bench latency`: the gaps that threads see |
//! | `vm` | `heapwood bench vm`: a virtual machine on several heaps |
//! | `rust` | `heapwood bench rust`: ways to use the crate, beside other collectors for Rust |
//! | `rust_report` | its report |
//! | `turns` | programs of the same work in turn, for both |
//! | `cargo` | programs that cargo builds |

mod ab;
mod ab_report;
mod ab_table;
mod build;
mod cargo;
pub(crate) mod children;
mod equal_rss;
mod gobench;
mod huge_pages;
mod latency;
mod manifest;
mod measured;
mod own_build;
mod plot;
mod programs;
mod quantity;
mod report;
mod rounds;
mod rust;
mod rust_report;
mod sources;
mod tables;
mod turns;
mod variable;
mod vm;

use crate::args::{Bench, BenchCommand, Output};
use crate::room::check_size;
use build::Skipped;
use children::Children;
use gobench::Benchmark;
use heapwood_report::CommandError;
use heapwood_report::Progress;
use heapwood_report::legible::complain;
use heapwood_report::output::{check_writable, json, write_picture};
use manifest::{Manifest, Peer};
use programs::Program;
use report::Report;

pub(crate) fn run(command: &BenchCommand) -> Result<(), CommandError> {
    match command {
        BenchCommand::Latency(args) => latency::run(args),
        BenchCommand::Vm(args) => vm::run(args),
        BenchCommand::Rust(args) => rust::run(args),
        BenchCommand::Workload(args) => match &args.ab {
            Some(ab) => ab::run(args, ab),
            None => with_peers(args),
        },
    }
}

fn with_peers(args: &Bench) -> Result<(), CommandError> {
    let workload = args.what.workload()?;
    let size = args.what.size()?;
    check_size(workload, size, None)?;
    let asked = args.peers();
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
    let equal_rss = args.equal_rss.as_deref().map(|name| manifest.one_of(&chosen, name)).transpose()?;
    if let Some(path) = &args.plot {
        check_writable(path, "picture")?;
    }

    let children = Children::new()?;
    let mut built = build::build(&children, &manifest, &chosen, args.build_dir.as_deref())?;
    built.skipped.extend(of_one_thread.into_iter().map(Skipped::of_one_thread));
    for skipped in &built.skipped {
        complain(format_args!("skipped: {}: {}", skipped.name, skipped.why));
    }
    let mut programs = vec![Program::heapwood(workload, size)?];
    for ready in &built.ready {
        programs.push(Program::peer(&children, ready, workload, size)?);
    }

    let bar = Progress::new();
    let mut rounds = rounds::Rounds::new(&children, &bar, workload, programs);
    rounds.warm_up()?;
    let tuned = match equal_rss {
        Some(peer) => Some(equal_rss::tune(&mut rounds, peer)?),
        None => None,
    };
    rounds.measure(args.runs)?;
    bar.finish();

    let report = Report::new(args, size, &rounds, tuned, built.skipped)?;
    if let Some(path) = &args.plot {
        write_picture(path, plot::draw(&report))?;
    }
    match args.output() {
        Output::Table => tables::print(&report),
        Output::Json => json(&report)?,
        Output::Gobench => {
            gobench::print_head(&report.header);
            let benchmark = Benchmark { workload, size, key: "program" };
            for entry in rounds.entries.iter().filter(|entry| entry.failed.is_none()) {
                benchmark.print(&entry.program.name, &entry.runs);
            }
        }
    }
    report.failure().map_or(Ok(()), Err)
}
