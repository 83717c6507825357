//! `heapwood-eval policy`: simulates programs under the policies of the collector (`heapwood_gc::policy`), without a
//! heap. It reports the number of collections, their share of CPU time, and the size of the heap. A program is the
//! trace of a heap (`HEAPWOOD=trace=1 PROGRAM 2> FILE`), or one of the built-in programs, each of which once showed a
//! defect.
//!
//! | file | content |
//! |---|---|
//! | `trace` | a program, read from the trace lines of a heap |
//! | `play` | the program under the policies |
//!
//! Invariant: a program has the same report on every machine.

mod play;
mod trace;

use crate::args::Policy;
use heapwood_report::tables::{number, table};
use heapwood_report::{CommandError, Header};
use play::{Played, play};
use serde::Serialize;
use std::fmt;
use trace::Program;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    programs: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    #[serde(flatten)]
    played: Played,
}

pub(crate) fn run(args: &Policy) -> Result<(), CommandError> {
    let mut programs: Vec<Program> = Vec::new();
    for file in &args.files {
        programs.push(Program::read(file)?);
    }
    if programs.is_empty() {
        programs = Program::built_in();
    }
    let rows = programs.iter().map(|program| Row { name: program.name.clone(), played: play(program, true) });
    let report =
        Report { header: Header::now("heapwood-eval policy".to_string(), 1), programs: rows.collect() };
    args.output.show(&report)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            table(&["program", "full", "young", "CPU s", "collecting %", "most MiB", "most alive MiB"]);
        for Row { name, played } in &self.programs {
            let mib = |bytes: usize| number(bytes as f64 / (1 << 20) as f64);
            table.add_row([
                name.clone(),
                played.full.to_string(),
                played.young.to_string(),
                number(played.all_ns as f64 / 1e9),
                number(100.0 * played.collecting_ns as f64 / played.all_ns.max(1) as f64),
                mib(played.most_bytes),
                mib(played.most_live),
            ]);
        }
        write!(f, "{}\n{table}", self.header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in(name: &str) -> Program {
        Program::built_in().into_iter().find(|program| program.name == name).unwrap()
    }

    /// Two threads of 35 shapes in a heap of 7 MiB. The growth policy once did not know the cost of a small heap to
    /// allocation, and the heap stayed small (2026-11-24: 35 to 50 times the CPU of one thread).
    #[test]
    fn a_small_heap_that_starves_its_mutators_grows() {
        let program = built_in("rand-small, two threads");
        let (told, untold) = (play(&program, true), play(&program, false));
        assert!(told.all_ns < 2 * program.mutator_ns(), "{told:?}");
        assert!(untold.all_ns > 8 * program.mutator_ns(), "the defect shows in the simulator: {untold:?}");
        assert!(told.most_bytes > untold.most_bytes, "{told:?} {untold:?}");
    }

    /// Where everything survives, young collections end soon and cost little.
    #[test]
    fn a_list_that_survives_has_few_young_collections() {
        let played = play(&built_in("a list that survives"), true);
        assert!(played.young < 30 && played.full < 20, "{played:?}");
    }

    #[test]
    fn garbage_has_young_collections_mostly() {
        let played = play(&built_in("garbage"), true);
        assert!(played.young > 10 * played.full, "{played:?}");
        assert!(played.collecting_ns * 20 < played.all_ns, "{played:?}");
    }

    /// After a full collection that found the ring full, and so freed nothing, young ones once seemed to pay.
    #[test]
    fn a_pipeline_has_few_young_collections() {
        let played = play(&built_in("a pipeline whose ring is full at times"), true);
        assert!(played.full > 100 && played.young * 10 < played.full, "{played:?}");
    }

    /// Young collections once came that scanned 90 MiB of stack for 4 MiB of new objects.
    #[test]
    fn a_deep_recursion_has_young_collections_where_its_stack_is_short() {
        let played = play(&built_in("a deep recursion"), true);
        assert!(played.young <= 1 && played.full > 1, "{played:?}");
    }

    #[test]
    fn a_program_is_read_from_its_trace_lines() {
        let text = "heapwood: something else\n\
            gc 1 @0.010s 9%: 0.01+1.0+0.01 ms clock, 0.01+1.0/0/0+0.01 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, \
            0 MB globals, 1 P | kind=full prep_ms=0.018 small_KiB=4096 taken=62\n\
            gc 2 @0.030s 9%: 0.01+2.0+0.01 ms clock, 0.01+2.0/0/0+0.01 ms cpu, 6->6->2 MB, 8 MB goal, 0 MB stacks, \
            0 MB globals, 1 P | kind=full prep_ms=0.018 small_KiB=5120 taken=62\n";
        let program = Program::parse("two", text).unwrap();
        assert_eq!(program.epochs.len(), 2);
        assert_eq!((program.epochs[1].allocated, program.epochs[1].live), (5 << 20, 2 << 20));
        assert_eq!((program.epochs[1].mark_ns_a_mib, program.epochs[1].stacks), (1_000_000, 0));
        let deep = Program::parse("two", &text.replace(" 0 MB stacks", " 6 MB stacks")).unwrap();
        assert_eq!(deep.epochs[1].stacks, 6 << 20);
        assert!(deep.epochs[1].mark_ns_a_mib < 1_000_000, "a part of the time is the stack's");
        // The pause that starts a marking beside the program finds what is alive no better than a young one; its end does.
        for (kind, epochs) in [("end", 2), ("degenerated", 2), ("start", 1), ("young", 1)] {
            let text = text.replacen("kind=full", &format!("kind={kind}"), 1);
            assert_eq!(Program::parse("two", &text).unwrap().epochs.len(), epochs, "{kind}");
        }
        let beside = text.replace("prep_ms=0.018", "prep_ms=0.018 beside_ms=6.0");
        assert_eq!(Program::parse("two", &beside).unwrap().epochs[1].mark_ns_a_mib, 4_000_000);
        assert!(Program::parse("none", "no line of a trace").is_err());
    }
}
