//! `heapwood run`: a workload on a heap of its own. A size that cannot fit is refused before it starts; a limit that
//! turns out too small ends the program with the reason.

use crate::args::{Run, Workload};
use crate::figures::Clock;
use crate::output::say;
use crate::size::show;
use heapwood::{AllocError, Config, Heap, Mutator};
use heapwood_workloads::{churn, mark, trees};
use serde_json::{Value, json};
use std::io::Write;

const USUAL_DEPTH: u64 = 21;

pub(crate) fn run(args: &Run) -> Result<(), String> {
    let n = args.n.unwrap_or(match args.workload {
        Workload::Trees => USUAL_DEPTH,
        Workload::Churn => churn::USUAL_OPS,
        Workload::Mark => mark::USUAL_OBJECTS,
    });
    check_size(args.workload, n)?;
    let config = Config { percent: args.percent, limit: args.limit, verify: args.verify, ..Config::DEFAULT };
    // SAFETY: the workloads keep their pointers on this thread's stack, in objects and in roots.
    let heap = unsafe { Heap::new(config) }.map_err(|e| e.to_string())?;
    heap.on_alloc_error(give_up);
    let m = heap.attach().map_err(|e| e.to_string())?;
    let clock = Clock::start();
    let lines = match args.workload {
        Workload::Trees => run_trees(&m, n as u32, args.json),
        Workload::Churn => run_churn(&m, n, args.json),
        Workload::Mark => run_mark(&m, n, args.json),
    };
    let figures = clock.stop(&heap, args, n, lines);
    if args.json {
        say!("{}", serde_json::to_string(&figures).map_err(|e| e.to_string())?);
    } else {
        figures.print();
    }
    match heap.stats().barrier_violations {
        0 => Ok(()),
        n => Err(format!("verify: {n} stores went around the write barrier")),
    }
}

/// What the heap calls when it cannot serve a workload any further.
fn give_up(error: &AllocError) {
    let _ = std::io::stdout().flush();
    eprintln!("heapwood: out of memory: {error}");
    std::process::exit(1);
}

fn check_size(workload: Workload, n: u64) -> Result<(), String> {
    let (least, what) = match workload {
        Workload::Trees => (trees::least_bytes(n.min(100) as u32), format!("trees of depth {n}")),
        Workload::Churn => (churn::least_bytes(), "churn".into()),
        Workload::Mark => {
            if n > mark::MOST_OBJECTS {
                return Err(format!("mark counts up to {} objects, not {n}", mark::MOST_OBJECTS));
            }
            (mark::least_bytes(n), format!("a graph of {n} objects"))
        }
    };
    let machine = heapwood_os::usage::physical_memory();
    if least > machine as u128 {
        let least = u64::try_from(least).map_or("more than 16 EiB".into(), show);
        return Err(format!("{what} would need {least} of memory, but this machine has {}", show(machine)));
    }
    Ok(())
}

fn run_trees(m: &Mutator, n: u32, json: bool) -> Vec<Value> {
    let mut lines = Vec::new();
    trees::run(m, n, |line| {
        let (trees, depth, nodes) = (line.trees, line.depth, line.nodes);
        if !json {
            let (count, what) = match line.kind {
                trees::Kind::Stretch => ("stretch".to_string(), "tree "),
                trees::Kind::Short => (trees.to_string(), "trees"),
                trees::Kind::LongLived => ("long-lived".to_string(), "tree "),
            };
            say!("{count:>10} {what} of depth {depth:<2}   nodes: {nodes:<10}  MB: {:.1}", line.megabytes());
        }
        lines.push(json!({"trees": trees, "depth": depth, "nodes": nodes}));
    });
    lines
}

fn run_churn(m: &Mutator, ops: u64, json: bool) -> Vec<Value> {
    let o = churn::run(m, ops);
    let gap_us = o.longest_gap_ns as f64 / 1e3;
    if !json {
        say!("churn ops {ops} checksum 0x{:016x}", o.checksum);
        say!("longest gap us {gap_us:.1}");
        say!("mops {:.3}", o.mops);
        say!("requested live {}", show(o.requested_live_bytes));
    }
    vec![json!({
        "ops": ops,
        "checksum": format!("0x{:016x}", o.checksum),
        "longest_gap_us": gap_us,
        "mops": o.mops,
        "requested_live_bytes": o.requested_live_bytes,
    })]
}

fn run_mark(m: &Mutator, objects: u64, json: bool) -> Vec<Value> {
    let mut lines = Vec::new();
    mark::run(m, objects, |line| {
        if !json {
            say!(
                "mark {} objects {objects} reached {} best_ns_per_object {:.3} median_ns_per_object {:.3}",
                line.graph,
                line.reached,
                line.best_ns,
                line.median_ns
            );
        }
        lines.push(json!({
            "graph": line.graph,
            "objects": objects,
            "reached": line.reached,
            "best_ns_per_object": line.best_ns,
            "median_ns_per_object": line.median_ns,
            "live_objects": line.live_objects,
        }));
    });
    lines
}
