//! The programs in turn: a round runs each of them once, so that a slow time of the machine is slow for all. The first
//! round warms up, and its check values of the first program, which is Heapwood, are the reference for all later runs. A peer
//! that fails is skipped from then on and named in the report. One with other check values ends the benchmark.

use super::children::Children;
use super::measured::Run;
use super::programs::Program;
use heapwood_report::CommandError;
use heapwood_report::Progress;
use heapwood_workloads::Workload;
use heapwood_workloads::protocol::RunOutput;

/// A program and its runs, the warm-up not counted.
pub(crate) struct Entry {
    pub(crate) program: Program,
    pub(crate) runs: Vec<Run>,
    pub(crate) failed: Option<String>,
}

impl Entry {
    fn new(program: Program) -> Entry {
        Entry { program, runs: Vec::new(), failed: None }
    }
}

pub(crate) struct Rounds<'a> {
    children: &'a Children,
    bar: &'a Progress,
    workload: &'static Workload,
    /// Heapwood first.
    pub(crate) entries: Vec<Entry>,
    /// The reference check values, and the program that they are from.
    expected: Option<(String, RunOutput)>,
}

impl<'a> Rounds<'a> {
    /// Prepares rounds of programs, Heapwood first.
    pub(crate) fn new(
        children: &'a Children,
        bar: &'a Progress,
        workload: &'static Workload,
        programs: Vec<Program>,
    ) -> Rounds<'a> {
        let entries = programs.into_iter().map(Entry::new).collect();
        Rounds { children, bar, workload, entries, expected: None }
    }

    pub(crate) fn warm_up(&mut self) -> Result<(), CommandError> {
        self.bar.expect(self.entries.len() as u64);
        self.round("warm-up").map(drop)
    }

    /// Runs `rounds` rounds.
    pub(crate) fn measure(&mut self, rounds: u32) -> Result<(), CommandError> {
        self.bar.expect(rounds as u64 * self.entries.iter().filter(|e| e.failed.is_none()).count() as u64);
        for round in 1..=rounds {
            for (k, run) in self.round(&format!("round {round} of {rounds}"))? {
                self.entries[k].runs.push(run);
            }
        }
        Ok(())
    }

    fn round(&mut self, what: &str) -> Result<Vec<(usize, Run)>, CommandError> {
        let mut runs = Vec::new();
        for k in 0..self.entries.len() {
            if self.entries[k].failed.is_some() {
                continue;
            }
            let program = self.entries[k].program.clone();
            self.bar.show(format!("{what}: {}", program.name));
            match self.once(&program)? {
                Ok(run) => runs.push((k, run)),
                Err(why) if program.essential => return Err(program.failed(why)),
                Err(why) => self.entries[k].failed = Some(why),
            }
            self.bar.advance();
        }
        Ok(runs)
    }

    /// Runs a program. The inner error is its failure; the outer one ends the benchmark.
    fn once(&mut self, program: &Program) -> Result<Result<Run, String>, CommandError> {
        let ended = match self.children.run(&mut program.command())? {
            Ok(ended) => ended,
            Err(e) => return Ok(Err(format!("it cannot be started: {e}"))),
        };
        if let Some(why) = ended.failure() {
            return Ok(Err(why));
        }
        let said = match RunOutput::parse(&ended.stdout) {
            Ok(said) => said,
            Err(why) => return Ok(Err(why)),
        };
        let first = || (format!("{}'s first run", program.name), said.clone());
        let (whose, expected) = self.expected.get_or_insert_with(first);
        if let Some(difference) = said.differs_from(expected, whose) {
            return Err(CommandError::run(format!(
                "{} did not do the same work, so nothing is compared: {difference}",
                program.name
            )));
        }
        if let Some(figure) =
            self.workload.figures.iter().find(|f| said.figures.iter().all(|(n, _)| n != f.name))
        {
            return Ok(Err(format!("it did not print the figure {}", figure.name)));
        }
        Ok(Ok(Run { wall_s: ended.wall_s, used: ended.used, figures: said.figures }))
    }
}
