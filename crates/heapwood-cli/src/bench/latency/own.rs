//! Heapwood's program, run in this process, which the command starts as it starts peers. The heap's options are those of the
//! variable HEAPWOOD.

use crate::args::Latency;
use crate::room::check_bytes;
use heapwood::{AllocError, Config, Heap};
use heapwood_report::legible::complain;
use heapwood_report::size::show;
use heapwood_report::{CommandError, say};
use heapwood_workloads::latency::{self, Setup};

pub(crate) fn run(args: &Latency) -> Result<(), CommandError> {
    let (&[live_bytes], &[threads], &[depth]) = (&args.live[..], &args.threads[..], &args.depth[..]) else {
        return Err(CommandError::usage("--as-peer takes one size, one number of threads and one depth"));
    };
    let setup = Setup { live_bytes, ms: args.seconds, threads, depth };
    check_room(setup)?;
    // SAFETY: the program keeps its pointers on the stacks of its threads and in objects.
    let heap = unsafe { Heap::new(Config::from_env()) }.map_err(CommandError::run)?;
    heap.on_alloc_error(give_up);
    let record = latency::run(&heap, setup).map_err(CommandError::run)?;
    say!("{record}");
    Ok(())
}

/// Refuses a size that does not fit even once.
pub(crate) fn check_room(setup: Setup) -> Result<(), CommandError> {
    check_bytes(setup.least_bytes(), None, |least| {
        format!("a cache of {} would need {least} of memory", show(setup.live_bytes))
    })
}

fn give_up(error: &AllocError) {
    complain(format_args!("out of memory: {error}"));
    std::process::exit(1);
}
