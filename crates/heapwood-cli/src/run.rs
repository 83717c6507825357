//! `heapwood run`: a workload on a heap of its own. A size that cannot fit is refused before it starts. A limit that
//! proves too small ends the program with an error.

use crate::args::{Format, Run};
use crate::figures::{self, Clock};
use crate::memory::Watch;
use crate::room::check_size;
use heapwood::{AllocError, Heap, HeapError};
use heapwood_heap::MIN_RESERVATION;
use heapwood_os::Request;
use heapwood_report::CommandError;
use heapwood_report::legible::complain;
use heapwood_report::output::check_writable;
use heapwood_report::page_samples::SampleFile;
use heapwood_report::say;
use heapwood_workloads::{Line, protocol};
use std::io::Write;

pub(crate) fn run(args: &Run) -> Result<(), CommandError> {
    let (workload, format) = (args.what.workload()?, args.format());
    let size = args.what.size()?;
    let config = args.heap.config();
    check_size(workload, size, config.address_space)?;
    // SAFETY: the workloads keep their pointers on the stacks of their threads, in objects and in roots.
    let heap = unsafe { Heap::new(config) }.map_err(no_heap)?;
    heap.on_alloc_error(give_up);
    if let Some(path) = &args.page_sample {
        check_writable(path, "page sample")?;
        heap.keep_page_snapshots();
    }
    let m = heap.attach().map_err(no_heap)?;
    let watch = args.memory.then(|| Watch::start(&heap));
    let clock = Clock::start();
    let mut lines = Vec::new();
    let ran = workload.run_on(&m, size.threads, size.n, &mut |line| {
        show_line(&line, format);
        lines.push(line.fields);
    });
    ran.map_err(CommandError::run)?;
    let figures = clock.stop(m, figures::Run { workload, size, config }, lines, watch)?;
    match format {
        Format::Text => figures.print(),
        Format::Json => say!("{}", serde_json::to_string(&figures).map_err(CommandError::run)?),
        Format::Peer => {}
    }
    if let Some(path) = &args.page_sample {
        let program = format!("{} {size}", workload.name);
        SampleFile::of(&heap, program).write(path)?;
    }
    match heap.stats().barrier_violations {
        0 => Ok(()),
        n => Err(CommandError::run(format!("verify: {n} stores went around the write barrier"))),
    }
}

fn show_line(line: &Line, format: Format) {
    match format {
        Format::Text => say!("{}", line.text),
        Format::Json => {}
        Format::Peer => say!("{}", protocol::print(line)),
    }
}

/// The error of making a heap, with the next step for this command.
fn no_heap(why: HeapError) -> CommandError {
    match why {
        HeapError::UnknownStack => CommandError::run(
            "the system does not say where this thread's stack ends, which it does by way of /proc: run mount -t proc \
             proc /proc first",
        ),
        // A smaller reservation than the minimum is no remedy.
        HeapError::Kernel(e) if e.request == Request::Reserve && e.bytes != MIN_RESERVATION => {
            CommandError::run(format!("{e} (--address-space SIZE)"))
        }
        _ => CommandError::run(why),
    }
}

/// The heap's hook for an allocation that fails.
fn give_up(error: &AllocError) {
    let _ = std::io::stdout().flush();
    complain(format_args!("out of memory: {error}"));
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::OsError;

    #[test]
    fn errors_name_the_commands_own_flags() {
        assert!(no_heap(HeapError::UnknownStack).message.contains("mount -t proc proc /proc"));
        let reserve = |bytes| no_heap(HeapError::Kernel(OsError::new(Request::Reserve, bytes, 12)));
        assert!(reserve(1 << 30).message.ends_with("(--address-space SIZE)"));
        assert!(!reserve(MIN_RESERVATION).message.contains("--address-space"));
    }
}
