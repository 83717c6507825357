//! `heapwood run`: a workload on a heap of its own. A size that cannot fit is refused before it starts; a limit that
//! turns out too small ends the program with the reason.

use crate::args::{Format, Run};
use crate::failure::Failure;
use crate::figures::Clock;
use crate::output::{check_writable, say};
use crate::pages::sample_file::SampleFile;
use crate::size::show;
use heapwood::{AllocError, Config, Heap};
use heapwood_workloads::{Line, Workload};
use std::io::Write;

pub(crate) fn run(args: &Run) -> Result<(), Failure> {
    let (workload, format) = (args.workload, args.format());
    let n = workload.check(args.n).map_err(Failure::usage)?;
    check_size(workload, n)?;
    let config = Config { percent: args.percent, limit: args.limit, verify: args.verify, ..Config::DEFAULT };
    // SAFETY: the workloads keep their pointers on this thread's stack, in objects and in roots.
    let heap = unsafe { Heap::new(config) }.map_err(Failure::run)?;
    heap.on_alloc_error(give_up);
    if let Some(path) = &args.page_sample {
        check_writable(path, "page sample")?;
        heap.watch_pages();
    }
    let m = heap.attach().map_err(Failure::run)?;
    let clock = Clock::start();
    let mut lines = Vec::new();
    (workload.run)(&m, n, &mut |line| {
        show_line(&line, format);
        lines.push(line.fields);
    });
    let figures = clock.stop(&heap, args, n, lines);
    match format {
        Format::Text => figures.print(),
        Format::Json => say!("{}", serde_json::to_string(&figures).map_err(Failure::run)?),
        Format::Peer => {}
    }
    if let Some(path) = &args.page_sample {
        drop(m);
        let program = format!("{} {n}", workload.name);
        take_samples(&heap, program).write(path)?;
    }
    match heap.stats().barrier_violations {
        0 => Ok(()),
        n => Err(Failure::run(format!("verify: {n} stores went around the write barrier"))),
    }
}

/// The heap's pages at its peak, now, and after the collection that freed most.
fn take_samples(heap: &Heap, program: String) -> SampleFile {
    let moments = [
        ("peak", heap.peak_page_sample()),
        ("exit", Some(heap.page_sample())),
        ("collected", heap.collected_page_sample()),
    ];
    let taken = moments.into_iter().filter_map(|(moment, sample)| Some((moment, sample?)));
    SampleFile::new(program, taken.collect())
}

fn show_line(line: &Line, format: Format) {
    match format {
        Format::Text => say!("{}", line.text),
        Format::Json => {}
        Format::Peer => {
            say!("{}", line.check);
            for (name, value) in &line.figures {
                say!("figure {name} {value}");
            }
        }
    }
}

/// What the heap calls when it cannot serve a workload any further.
fn give_up(error: &AllocError) {
    let _ = std::io::stdout().flush();
    eprintln!("heapwood: out of memory: {error}");
    std::process::exit(1);
}

/// Refuses what this machine, or a heap in the address space of this process, cannot hold even once.
pub(crate) fn check_size(workload: &Workload, n: u64) -> Result<(), Failure> {
    let least = (workload.least_bytes)(n);
    let machine = heapwood_os::usage::physical_memory();
    let limit = heapwood_os::usage::address_space_limit();
    let window = Config::usual_window(limit, machine) as u64;
    let has = match limit {
        _ if least > machine as u128 => format!("this machine has {}", show(machine)),
        Some(limit) if least > window as u128 => format!(
            "a heap gets {} of address space here: raise `ulimit -v`, which is {}",
            show(window),
            show(limit)
        ),
        _ => return Ok(()),
    };
    let least = u64::try_from(least).map_or("more than 16 EiB".into(), show);
    Err(Failure::run(format!(
        "{} with a {} of {n} would need {least} of memory, but {has}",
        workload.name, workload.n.unit
    )))
}
