//! `heapwood pages replay`: allocation timed out of samples of real heaps, until nothing is left of them, with the page
//! cache and without it. Invariant: whatever is compared starts from the same sample, and the rounds are interleaved, so
//! that a slow moment of the machine falls on all alike. To benchmark out of samples of real heaps is from "Proposal:
//! Scaling the Go page allocator" (Knyszek and Clements, 2019).
//!
//! | module | what it holds |
//! |---|---|
//! | `drain` | allocating until nothing is left |
//! | `report` | what came out, as tables and for machines |

mod drain;
mod report;

use super::moments::{self, Moment};
use crate::args::{Replay, Request};
use crate::bench::spread::Spread;
use crate::failure::Failure;
use crate::output::json;
use drain::{Drain, Drained};
use heapwood_os::clock::monotonic_ns;
use report::{Report, Row, SampleReport};

/// How much is timed of a small sample in a pass.
const ENOUGH_NS: u64 = 100_000;

/// How long a pass may take with everything that is not timed.
const TOO_LONG_NS: u64 = 5_000_000;

/// One line of the tables as it is measured.
struct Case<'a> {
    moment: &'a Moment,
    drain: Drain,
    /// The same in every pass.
    drained: Drained,
    ns: Vec<f64>,
}

pub(crate) fn run(args: &Replay) -> Result<(), Failure> {
    let moments = moments::all(&args.files)?;
    let mut cases = Vec::new();
    for moment in moments.iter().filter(|moment| moment.source.free_pages > 0) {
        for &request in &args.pages {
            for cached in [false, true] {
                let drain = Drain::new(request, cached);
                // Not timed: what comes out, and a warm-up.
                let drained = drain.run(&moment.sample)?;
                cases.push(Case { moment, drain, drained, ns: Vec::new() });
            }
        }
    }
    for _ in 0..args.runs {
        for case in cases.iter_mut().filter(|case| case.drained.allocations > 0) {
            let ns = pass(case)?;
            case.ns.push(ns);
        }
    }
    let report = report(args, &moments, &cases);
    if args.json {
        json(&report)?;
    } else {
        report.print();
    }
    Ok(())
}

/// Nanoseconds an allocation.
fn pass(case: &Case<'_>) -> Result<f64, Failure> {
    let begin = monotonic_ns();
    let (mut ns, mut allocations) = (0, 0);
    while ns < ENOUGH_NS && monotonic_ns() - begin < TOO_LONG_NS || allocations == 0 {
        let drained = case.drain.run(&case.moment.sample)?;
        ns += drained.ns;
        allocations += drained.allocations;
    }
    Ok(ns as f64 / allocations as f64)
}

fn report(args: &Replay, moments: &[Moment], cases: &[Case<'_>]) -> Report {
    let row = |case: &Case<'_>| Row {
        pages: match case.drain.request {
            Request::Pages(count) => count.into(),
            Request::Mix => "mix".into(),
        },
        cached: case.drain.cached,
        allocations: case.drained.allocations,
        allocated_pages: case.moment.source.free_pages - case.drained.left,
        ns: (!case.ns.is_empty()).then(|| Spread::of(case.ns.iter().copied())),
        visits: case.drained.visits,
        free_pages_left: case.drained.left,
    };
    let samples = moments.iter().map(|moment| SampleReport {
        source: moment.source.clone(),
        rows: cases.iter().filter(|case| std::ptr::eq(case.moment, moment)).map(row).collect(),
    });
    Report::new(args.runs, samples.collect())
}
