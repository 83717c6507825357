//! `heapwood-eval allocation`: the cost of a lock around every allocation, compared with runs of cells that belong to
//! the thread. It is the experiment of D's "GC optimizations, round 3". Its programs run with each lock, on several
//! numbers of threads, in one binary. The compiler makes a copy of a program for each lock, so no copy has a branch for
//! another one.
//!
//! | file | content |
//! |---|---|
//! | `locks` | locks around an allocation: none, a mutex, and that mutex as a monitor, as in the document |
//! | `programs` | the programs, and a run of one with one lock on N threads |
//! | `report` | tables and JSON |

mod locks;
mod programs;
mod report;

use crate::args::Allocation;
use crate::timing::{Clock, Series, rounds};
use heapwood::{Config, Heap, Mutator};
use heapwood_report::{CommandError, Header, Progress, Spread};
use locks::{Exclusive, Lock, Monitor, Owned, Unlocked};
use programs::{Outcome, Program, run_with};
use report::{Case, OneLock, Phases, Report};
use std::hint::black_box;

/// A lock, by name.
struct Way {
    name: &'static str,
    /// The largest number of threads that it is correct for.
    threads: usize,
    run: fn(Program, usize) -> Result<Outcome, CommandError>,
    /// Locks and unlocks N times.
    uncontended: fn(&Mutator, usize),
}

const fn way<L: Lock>() -> Way {
    Way { name: L::NAME, threads: L::THREADS, run: run_with::<L>, uncontended: uncontended::<L> }
}

/// All locks, in the order of the tables.
const WAYS: [Way; 4] = [way::<Unlocked>(), way::<Owned>(), way::<Exclusive>(), way::<Monitor>()];

fn uncontended<L: Lock>(m: &Mutator, times: usize) {
    let lock = L::default();
    for _ in 0..times {
        black_box(&lock).with(m, || black_box(()));
    }
}

/// A program with one lock on N threads.
struct Cell<'w> {
    program: Program,
    way: &'w Way,
    threads: usize,
    outcomes: Vec<Outcome>,
}

pub(crate) fn run(args: &Allocation) -> Result<(), CommandError> {
    let mut cells = Vec::new();
    for program in Program::all(&args.iterations, &args.depth) {
        for &threads in &args.threads {
            let ways = WAYS.iter().filter(|way| threads <= way.threads);
            cells.extend(ways.map(|way| Cell { program, way, threads, outcomes: Vec::new() }));
        }
    }
    let bar = Progress::new();
    let mut known = Vec::new();
    let locks = one_lock(args.runs.k, &bar)?;
    rounds(args.runs.k, &bar, cells.len(), |measuring| {
        for cell in &mut cells {
            bar.show(format!("{}, {}, {} threads", cell.program, cell.way.name, cell.threads));
            let program = if measuring { cell.program } else { cell.program.tiny() };
            let outcome = (cell.way.run)(program, cell.threads)?;
            let found = (program, outcome.check);
            match known.iter().find(|(of, _)| *of == program) {
                None => known.push(found),
                Some(first) if *first == found => {}
                Some(_) => {
                    return Err(CommandError::run(format!(
                        "{program} with {} on {} threads has another result than before: objects were lost or mixed up",
                        cell.way.name, cell.threads
                    )));
                }
            }
            if measuring {
                cell.outcomes.push(outcome);
            }
            bar.advance();
        }
        Ok(())
    })?;
    bar.finish();
    let header = Header::now(args.command(), args.runs.k);
    let cases = cells.iter().map(|cell| case(cell, &cells)).collect();
    args.output.show(&Report { header, locks, cases })
}

/// The cost of each lock without contention.
fn one_lock(runs: u32, bar: &Progress) -> Result<Vec<OneLock>, CommandError> {
    // SAFETY: no object is allocated.
    let heap = unsafe { Heap::new(Config::DEFAULT) }.map_err(CommandError::run)?;
    let m = heap.attach().map_err(CommandError::run)?;
    let (clock, mut each) = (Clock::new(), WAYS.each_ref().map(|_| Series::new()));
    bar.show("locks".into());
    rounds(runs.max(7), bar, 1, |measuring| {
        for (way, series) in WAYS.iter().zip(&mut each) {
            series.round(&clock, measuring, |times| (way.uncontended)(&m, times));
        }
        bar.advance();
        Ok(())
    })?;
    Ok(WAYS.iter().zip(each).map(|(way, series)| OneLock { name: way.name, ns: series.spread() }).collect())
}

fn case(cell: &Cell<'_>, all: &[Cell<'_>]) -> Case {
    let of_same = |name: &str, threads: usize| {
        let same = |c: &&Cell<'_>| (c.program, c.way.name, c.threads) == (cell.program, name, threads);
        all.iter().find(same)
    };
    let walls = |cell: &Cell<'_>| cell.outcomes.iter().map(|o| o.wall_s).collect::<Vec<f64>>();
    let spread = |value: &dyn Fn(&Outcome) -> f64| Spread::of(cell.outcomes.iter().map(value));
    let allocations = cell.program.allocations() as f64;
    let ms = |ns: u64| ns as f64 / 1e6;
    Case {
        program: cell.program.to_string(),
        lock: cell.way.name,
        threads: cell.threads,
        wall_s: spread(&|o| o.wall_s),
        cpu_s: spread(&|o| o.cpu_s),
        ns_each: spread(&|o| o.wall_s * 1e9 / allocations),
        over_owned: of_same(Owned::NAME, cell.threads)
            .map(|owned| Spread::of_ratios(walls(cell), walls(owned))),
        // The ratio of work over the ratio of time.
        scaling: of_same(cell.way.name, 1).map(|alone| {
            let all_work = walls(alone).into_iter().map(|wall| wall * cell.threads as f64);
            Spread::of_ratios(all_work, walls(cell))
        }),
        collections: spread(&|o| o.stats.collections as f64),
        phases_ms: Phases {
            prep: spread(&|o| ms(o.stats.phase_prep_ns)),
            stop: spread(&|o| ms(o.stats.phase_stop_ns)),
            mark: spread(&|o| ms(o.stats.phase_mark_ns)),
            sweep: spread(&|o| ms(o.stats.phase_sweep_ns)),
            recovery: spread(&|o| ms(o.stats.phase_recovery_ns)),
            total: spread(&|o| ms(o.stats.phase_total_ns)),
        },
    }
}
