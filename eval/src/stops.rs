//! `heapwood-eval stops`: what a stop costs by itself: an empty heap is collected while idle threads are attached, in
//! blocking regions, and types are registered. The first collection is told apart: it finds what the threads have used.

use crate::args::Stops;
use crate::attached::Attached;
use crate::timing::{Series, rounds};
use heapwood_gc::{Config, Heap, ObjectType};
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;
use heapwood_report::tables::{number, show, table};
use heapwood_report::{CommandError, Header, Progress, Spread};
use serde::Serialize;
use std::fmt;
use std::sync::RwLock;
use std::sync::mpsc::{self, Sender};

const CONFIG: Config = Config::DEFAULT.min_heap(1 << 30).background_release(false);

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    cases: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    threads: usize,
    types: usize,
    /// Types that each thread has used.
    used: usize,
    first_us: f64,
    pause_us: Spread,
}

pub(crate) fn run(args: &Stops) -> Result<(), CommandError> {
    let bar = Progress::new();
    let mut cases = Vec::new();
    for threads in [1, 64, 1000] {
        for (types, used) in [(10, 0), (5000, 0), (15_000, 0), (5000, 30)] {
            bar.show(format!("{threads} threads, {types} types"));
            cases.push(pauses(threads, types, used, args.runs.k, &bar)?);
        }
    }
    bar.finish();
    let header = Header::now(format!("heapwood-eval stops --runs {}", args.runs.k), args.runs.k);
    args.output.show("stops", &Report { header, cases })
}

/// Pauses with so many idle threads, each of which has used `used` of so many types.
fn pauses(threads: usize, types: usize, used: usize, runs: u32, bar: &Progress) -> Result<Row, CommandError> {
    let heap = Heap::create(&SYSTEM, CONFIG).map_err(CommandError::run)?;
    let registered = (0..types).map(|n| register(&heap, n)).collect::<Result<Vec<_>, _>>()?;
    let (ready, all) = mpsc::channel();
    let gate = RwLock::new(());
    let held = gate.write();
    std::thread::scope(|scope| {
        let mut idlers = Vec::new();
        for thread in 0..threads {
            let (heap, registered, gate, ready) = (&heap, &registered, &gate, ready.clone());
            let some = move || registered.iter().cycle().skip(thread * 7).take(used);
            let idler = std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn_scoped(scope, move || idle(heap, some(), &ready, gate));
            match idler {
                Ok(idler) => idlers.push(idler),
                // The others go when the gate opens.
                Err(e) => {
                    return Err(CommandError::run(format!(
                        "thread {thread} of {threads} cannot be started: {e}"
                    )));
                }
            }
        }
        // Every thread says once that it is idle, or why not.
        all.iter().take(threads).collect::<Result<(), CommandError>>()?;
        let row = collect(&heap, runs, bar);
        drop(held);
        row.map(|(first_us, pause_us)| Row { threads, types, used, first_us, pause_us })
    })
}

/// A thread that uses some types, and then waits in a blocking region until the gate opens.
fn idle<'t>(
    heap: &Heap,
    mut types: impl Iterator<Item = &'t ObjectType>,
    ready: &Sender<Result<(), CommandError>>,
    gate: &RwLock<()>,
) {
    let used = Attached::to(heap).and_then(|attached| {
        types.try_for_each(|&ty| attached.mutator().allocate(ty).map(drop).map_err(CommandError::run))?;
        Ok(attached)
    });
    let waited = used.and_then(|attached| {
        let wait = || {
            let _ = ready.send(Ok(()));
            drop(gate.read());
        };
        attached.mutator().blocking(wait).map_err(CommandError::run)
    });
    if let Err(failure) = waited {
        let _ = ready.send(Err(failure));
    }
}

/// The first pause of a heap and the later ones, in microseconds.
fn collect(heap: &Heap, runs: u32, bar: &Progress) -> Result<(f64, Spread), CommandError> {
    let attached = Attached::to(heap)?;
    let (mut last, mut first, mut pauses) = (0, 0.0, Series::new());
    rounds(runs, bar, 1, |measuring| {
        attached.mutator().collect().map_err(CommandError::run)?;
        let total = heap.stats().pause_total_ns;
        let us = (total - last) as f64 / 1e3;
        last = total;
        if measuring {
            pauses.push(us)
        } else {
            first = us
        }
        bar.advance();
        Ok(())
    })?;
    Ok((first, pauses.spread()))
}

/// The type of some number, of 1 or 1.1 KiB and more, with a bit for each of 14 in a word and a half.
fn register(heap: &Heap, n: usize) -> Result<ObjectType, CommandError> {
    let masks = [1 | (n as u64) << 1, 0];
    let descriptor = TypeDescriptor::masked(1024 + n / 8192 * 128, &masks).map_err(CommandError::run)?;
    heap.register(&descriptor).map_err(CommandError::run)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = table(&["threads", "types", "used by each", "first, us", "pause, us"]);
        for row in &self.cases {
            let [threads, types, used] = [row.threads, row.types, row.used].map(|n| n.to_string());
            table.add_row([threads, types, used, number(row.first_us), show(row.pause_us, 1.0)]);
        }
        writeln!(f, "{}\n", self.header)?;
        writeln!(
            f,
            "Collections of an empty heap: the first, and median (least-most) of the {} after it.\n",
            self.header.runs
        )?;
        writeln!(f, "{table}")
    }
}
