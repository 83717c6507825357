//! `heapwood-eval shared`: what it costs to share. A read-modify-write and a lock, by one thread and by two that want the same
//! line, which then goes from core to core; and how long a visit holds the lock of a heap's span lists. What many threads
//! would do to one lock is computed of these (docs/design/scaling.md).

use crate::args::Shared;
use crate::attached::Attached;
use crate::timing::{Series, rounds};
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heapwood_gc::{Config, Heap};
use heapwood_layout::TypeDescriptor;
use heapwood_os::timed_lock::TickClock;
use heapwood_os::{CachePadded, SYSTEM, TimedLock};
use heapwood_report::tables::{show, table};
use heapwood_report::{CommandError, Header, Progress, Spread};
use serde::Serialize;
use std::fmt;
use std::time::Instant;

/// Operations of a thread in a round.
const OPERATIONS: u64 = 2_000_000;
/// What is allocated in a round, of garbage.
const BYTES: usize = 64 << 20;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    what: &'static str,
    ns: Spread,
}

pub(crate) fn run(args: &Shared) -> Result<(), CommandError> {
    let bar = Progress::new();
    let words: [CachePadded<AtomicU64>; 2] = Default::default();
    let lock = CachePadded(TimedLock::new(0u64));
    let add = |word: &AtomicU64| {
        word.fetch_add(1, Ordering::AcqRel);
    };
    let visit = || *lock.lock() += 1;
    let mut series: [Series; 7] = core::array::from_fn(|_| Series::new());
    rounds(args.runs.k, &bar, 1, |measuring| {
        let heap = visits()?;
        let ns = [
            each(1, |_| add(&words[0])),
            each(2, |thread| add(&words[thread])),
            each(2, |_| add(&words[0])),
            each(1, |_| visit()),
            each(2, |_| visit()),
            heap.0,
            heap.1,
        ];
        if measuring {
            series.iter_mut().zip(ns).for_each(|(series, ns)| series.push(ns));
        }
        bar.advance();
        Ok(())
    })?;
    bar.finish();
    let what = [
        "read-modify-write, one thread",
        "the same, two threads on lines of their own",
        "the same, two threads on one line",
        "lock and unlock, one thread",
        "the same, two threads and one lock",
        "a visit of the span lists: the lock held",
        "small objects of a MiB, one thread: the lock held",
    ];
    let rows = what.into_iter().zip(series).map(|(what, series)| Row { what, ns: series.spread() }).collect();
    let header = Header::now(format!("heapwood-eval shared --runs {}", args.runs.k), args.runs.k);
    args.output.show("shared", &Report { header, rows })
}

/// Nanoseconds of an operation, where so many threads do it at once: the time that passes divided by what one thread does.
fn each(threads: usize, operation: impl Fn(usize) + Sync) -> f64 {
    let (ready, took) = (AtomicUsize::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (ready, took, operation) = (&ready, &took, &operation);
            scope.spawn(move || {
                ready.fetch_add(1, Ordering::AcqRel);
                while ready.load(Ordering::Acquire) < threads {
                    core::hint::spin_loop();
                }
                let begun = Instant::now();
                for _ in 0..OPERATIONS {
                    operation(black_box(thread));
                }
                took.fetch_max(begun.elapsed().as_nanos() as u64, Ordering::AcqRel);
            });
        }
    });
    took.into_inner() as f64 / OPERATIONS as f64
}

/// How long the lock of the span lists is held in a visit, and for a MiB of small objects, by a thread that makes garbage.
fn visits() -> Result<(f64, f64), CommandError> {
    let heap = Heap::create(&SYSTEM, Config::DEFAULT.background_release(false)).map_err(CommandError::run)?;
    let clock = TickClock::start();
    let attached = Attached::to(&*heap)?;
    let described = TypeDescriptor::masked(32, &[0b11]).map_err(CommandError::run)?;
    let ty = heap.register(&described).map_err(CommandError::run)?;
    let make = |bytes: usize| {
        (0..bytes / 32).try_for_each(|_| attached.mutator().allocate(ty).map(drop).map_err(CommandError::run))
    };
    // The first cycle makes the spans that the others sweep.
    make(BYTES)?;
    let before = heap.space().stats();
    make(BYTES)?;
    let after = heap.space().stats();
    let held = clock.ns(after.held_spans - before.held_spans) as f64;
    let visits = (after.span_lock_acquisitions - before.span_lock_acquisitions).max(1);
    Ok((held / visits as f64, held / (BYTES >> 20) as f64))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = table(&["what", "ns"]);
        for row in &self.rows {
            table.add_row([row.what.to_string(), show(row.ns, 1.0)]);
        }
        writeln!(f, "{}\n", self.header)?;
        writeln!(
            f,
            "Nanoseconds: median (least-most) of {} rounds. Of two threads each does as much as one.\n",
            self.header.runs
        )?;
        writeln!(f, "{table}")
    }
}
