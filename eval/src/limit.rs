//! `heapwood-eval limit`: what the last percents of a limit cost: part of 64 MiB is kept alive, in 256 lists or in one,
//! then garbage is made. Shown is the CPU time for an object of garbage, over that of a heap without a limit, and the
//! largest share of any second that collections took.

use crate::args::Limit;
use crate::attached::Attached;
use heapwood_gc::{Config, Mutator, ObjectType};
use heapwood_layout::TypeDescriptor;
use heapwood_os::clock;
use heapwood_report::tables::{number, show, table};
use heapwood_report::{CommandError, Header, Progress, Spread};
use serde::Serialize;
use std::fmt;

const LIMIT: usize = 64 << 20;
const GARBAGE: usize = 20_000_000;
const OBJECT: usize = 32;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    cases: Vec<Row>,
}

/// So many percent of the limit alive in so many lists.
#[derive(Serialize)]
struct Row {
    live_percent: usize,
    lists: usize,
    /// `None` if what is to be kept alive does not fit.
    limited: Option<Limited>,
}

#[derive(Serialize)]
struct Limited {
    over_unlimited: Spread,
    /// Of all runs the largest.
    largest_share_of_a_second: f64,
    refused: usize,
}

struct Outcome {
    /// CPU nanoseconds an object.
    ns: f64,
    /// The largest share of a second that collections took, by the wall clock.
    share: f64,
    /// Objects that were refused.
    refused: usize,
}

pub(crate) fn run(args: &Limit) -> Result<(), CommandError> {
    let bar = Progress::new();
    let mut cases = Vec::new();
    for lists in [256, 1] {
        for live_percent in [50, 70, 80, 85, 90, 95, 98] {
            bar.show(format!("{live_percent} % alive in {lists} lists"));
            bar.expect(u64::from(args.runs.k));
            let (mut ratios, mut limited) = (Vec::new(), Vec::new());
            for _ in 0..args.runs.k {
                let free = garbage(None, live_percent, lists)?;
                if let (Some(outcome), Some(free)) = (garbage(Some(LIMIT), live_percent, lists)?, free) {
                    ratios.push(outcome.ns / free.ns);
                    limited.push(outcome);
                }
                bar.advance();
            }
            let limited = (!limited.is_empty()).then(|| Limited {
                over_unlimited: Spread::of(ratios),
                largest_share_of_a_second: limited.iter().map(|outcome| outcome.share).fold(0.0, f64::max),
                refused: limited.iter().map(|outcome| outcome.refused).max().unwrap_or(0),
            });
            cases.push(Row { live_percent, lists, limited });
        }
    }
    bar.finish();
    let header = Header::now(format!("heapwood-eval limit --runs {}", args.runs.k), args.runs.k);
    args.output.show("limit", &Report { header, cases })
}

fn allocate(m: &Mutator, ty: ObjectType) -> Option<usize> {
    m.allocate(ty).ok().map(|object| object.as_ptr() as usize)
}

/// Makes garbage in a heap of which so many percent of the limit are alive; `None` if they do not fit.
fn garbage(limit: Option<usize>, percent: usize, lists: usize) -> Result<Option<Outcome>, CommandError> {
    // Roots that the heap reads until it goes.
    let mut heads = vec![0usize; lists];
    let mut config = Config::DEFAULT.conservative_stacks(false).background_release(false);
    config.limit = limit;
    let attached = Attached::alone(config)?;
    let (heap, m) = (attached.heap(), attached.mutator());
    let ty = TypeDescriptor::masked(OBJECT, &[1]).map_err(CommandError::run)?;
    let ty = heap.register(&ty).map_err(CommandError::run)?;
    // SAFETY: the slots are dropped after the heap; they change between collections only.
    unsafe { heap.add_root_slots(heads.as_ptr(), lists) }.map_err(CommandError::run)?;
    for n in 0..LIMIT / 100 * percent / OBJECT {
        let Some(object) = allocate(m, ty) else { return Ok(None) };
        // SAFETY: the object is new, and has a word; the slot is a root.
        unsafe {
            (object as *mut usize).write((&raw const heads[n % lists]).read_volatile());
            (&raw mut heads[n % lists]).write_volatile(object);
        }
    }
    let (cpu, mut share, mut refused) = (clock::thread_cpu_ns(), 0f64, 0);
    let (mut since, mut before) = (clock::monotonic_ns(), heap.stats().pause_total_ns);
    for n in 0..GARBAGE {
        refused += allocate(m, ty).is_none() as usize;
        if n % 4096 == 0 && clock::monotonic_ns() - since > 1_000_000_000 {
            let (now, paused) = (clock::monotonic_ns(), heap.stats().pause_total_ns);
            share = share.max((paused - before) as f64 / (now - since) as f64);
            (since, before) = (now, paused);
        }
    }
    let ns = (clock::thread_cpu_ns() - cpu) as f64 / GARBAGE as f64;
    Ok(Some(Outcome { ns, share, refused }))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = table(&["live %", "lists", "x", "% of a second", "refused"]);
        for row in &self.cases {
            let of =
                |show: &dyn Fn(&Limited) -> String| row.limited.as_ref().map_or("does not fit".into(), show);
            table.add_row([
                row.live_percent.to_string(),
                row.lists.to_string(),
                of(&|limited| show(limited.over_unlimited, 1.0)),
                of(&|limited| number(limited.largest_share_of_a_second * 100.0)),
                of(&|limited| limited.refused.to_string()),
            ]);
        }
        writeln!(f, "{}\n", self.header)?;
        writeln!(
            f,
            "Part of 64 MiB alive, then 20 million objects of garbage. x: CPU time of an object over that without a limit. %"
        )?;
        writeln!(f, "of a second: the largest share of any second that collections took.\n")?;
        writeln!(f, "{table}")
    }
}
