//! `heapwood-eval replay`: timed allocation from samples of real heaps, until no page is left, with the page cache and
//! without it. Invariant: all compared runs start from the same sample, and the rounds are interleaved, so that a slow
//! moment of the machine affects all alike. Benchmarks from samples of real heaps are from "Proposal: Scaling the Go
//! page allocator" (Knyszek and Clements, 2019).
//!
//! | module | content |
//! |---|---|
//! | `drain` | allocation until no page is left |
//! | `report` | the report, as tables and JSON |

mod drain;
mod report;

use crate::args::{Replay, Request};
use crate::moments::{self, Moment};
use crate::timing::{Clock, PassEnd, Series, rounds};
use drain::{Drain, DrainResult};
use heapwood_report::{CommandError, Header, Progress};
use report::{Report, Row, SampleReport};
use std::time::Duration;

/// The least timed part of a pass on a small sample, unless making its allocators takes too long.
const ENOUGH: PassEnd = PassEnd { ns: 100_000.0, wall: Duration::from_millis(5) };

/// One line of the tables, while it is measured.
struct Case<'a> {
    moment: &'a Moment,
    drain: Drain,
    /// The same in every pass.
    drained: DrainResult,
    ns: Series,
}

impl Case<'_> {
    /// One pass: nanoseconds an allocation.
    fn round(&mut self, clock: &Clock, measuring: bool) -> Result<(), CommandError> {
        let sample = &self.moment.sample;
        let mut pages = self.drain.make(sample)?;
        let pass = clock.pass(
            ENOUGH,
            &mut pages,
            self.drained.allocations,
            |pages| self.drain.all(pages),
            |pages| {
                *pages = self.drain.make(sample)?;
                Ok(())
            },
        )?;
        if measuring {
            self.ns.push(pass.ns);
        }
        Ok(())
    }
}

pub(crate) fn run(args: &Replay) -> Result<(), CommandError> {
    let moments = moments::all(&args.files)?;
    let mut cases = Vec::new();
    for moment in moments.iter().filter(|moment| moment.source.free_pages > 0) {
        for &request in &args.pages {
            for cached in [false, true] {
                let drain = Drain::new(request, cached);
                let drained = drain.run(&moment.sample)?;
                cases.push(Case { moment, drain, drained, ns: Series::new() });
            }
        }
    }
    let (bar, clock) = (Progress::new(), Clock::new());
    rounds(args.runs.k, &bar, 1, |measuring| {
        let mut cases = cases.iter_mut().filter(|case| case.drained.allocations > 0);
        cases.try_for_each(|case| case.round(&clock, measuring))?;
        bar.advance();
        Ok(())
    })?;
    bar.finish();
    args.output.show(&report(args, &moments, &cases))
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
        ns: (!case.ns.is_empty()).then(|| case.ns.spread()),
        visits: case.drained.visits,
        free_pages_left: case.drained.left,
    };
    let samples = moments.iter().map(|moment| SampleReport {
        source: moment.source.clone(),
        rows: cases.iter().filter(|case| std::ptr::eq(case.moment, moment)).map(row).collect(),
    });
    Report { header: Header::now(command(args), args.runs.k), samples: samples.collect() }
}

/// The command for the same measurement, without the files, whose names are in the report.
fn command(args: &Replay) -> String {
    let pages: Vec<String> = args.pages.iter().map(Request::to_string).collect();
    format!("heapwood-eval replay --pages {} --runs {}", pages.join(","), args.runs.k)
}
