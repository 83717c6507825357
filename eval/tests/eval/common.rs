//! Running the program, and samples of heaps for it.
use heapwood::{Config, Heap};
use heapwood_report::page_samples::SampleFile;
pub(crate) use heapwood_report::testing::{File, Program, Ran, check_spread, squeezed};
use heapwood_workloads::Workload;
use serde_json::Value;
use std::process::Command;

pub(crate) const EVAL: Program = Program(env!("CARGO_BIN_EXE_heapwood-eval"));

pub(crate) fn command(args: &str) -> Command {
    EVAL.command(args)
}

pub(crate) fn ran(args: &str) -> Ran {
    EVAL.run(args)
}

pub(crate) fn output(args: &str) -> String {
    EVAL.output(args)
}

/// A run that must end with `code` and print all of `words` on standard error, and nothing else.
pub(crate) fn fails(args: &str, code: i32, words: &[&str]) {
    heapwood_report::testing::fails(&mut command(args), code, words);
}

pub(crate) fn json(args: &str) -> Value {
    EVAL.json(args)
}

/// Writes the file of `heapwood run trees DEPTH --page-sample FILE`.
pub(crate) fn sample_of_trees(depth: u64, file: &File) {
    // SAFETY: the workload keeps its pointers on this thread's stack, in objects and in roots.
    let heap = unsafe { Heap::new(Config::default()) }.unwrap();
    heap.keep_page_snapshots();
    let m = heap.attach().unwrap();
    (Workload::find("trees").unwrap().run)(&m, depth, &mut |_| {});
    drop(m);
    SampleFile::of(&heap, format!("trees {depth}")).write(file.path()).unwrap();
}
