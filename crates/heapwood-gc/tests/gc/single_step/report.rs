//! What became of each step of a window: at which instructions the thread was stopped, and where it took longer.

use super::code::Symbols;
use super::lead::{Began, Step};
use heapwood_gc::Interruption;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What became of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// The thread was stopped before this instruction.
    Stopped,
    /// A signal came there in a no-preempt region, and the thread went on.
    InSection,
    /// A collection waits: for the end of a no-preempt region in which its signal came, or for a lock that the thread holds.
    Waiting,
    /// A signal came there when it was not wanted any more, or the thread had left the heap.
    NotAsked,
    /// A collection was made without this thread.
    Without,
    /// Nobody was asked for a collection.
    Quiet,
}

/// A window, step by step.
pub(crate) struct Report {
    steps: Vec<(usize, Answer)>,
    pub(crate) collections: u64,
}

impl Report {
    pub(super) fn new(steps: &[Step], notes: Vec<(usize, Interruption)>, collections: u64) -> Self {
        let mut all = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            let until = steps.get(i + 1).map_or(notes.len(), |next| next.noted as usize);
            let mut here = notes[step.noted as usize..until].to_vec();
            here.dedup();
            let answer = match (step.began_with, &here[..]) {
                (Began::Pending, &[(at, what), ..]) => {
                    assert_eq!(at, step.at, "step {i}: the signal came elsewhere");
                    match what {
                        Interruption::Stopped => Answer::Stopped,
                        Interruption::InNoPreempt => Answer::InSection,
                        Interruption::NotAsked => Answer::NotAsked,
                        Interruption::OnNoStack => panic!("step {i}: on no stack"),
                    }
                }
                // Its mutator is in no record any more, or not yet.
                (Began::Pending, []) => Answer::NotAsked,
                // Signals that are sent again come at any time.
                (Began::Waiting, _) => Answer::Waiting,
                (Began::Collected, _) => Answer::Without,
                (Began::Quiet, _) => Answer::Quiet,
            };
            all.push((step.at, answer));
        }
        Report { steps: all, collections }
    }

    pub(crate) fn steps(&self) -> usize {
        self.steps.len()
    }

    fn count(&self, answer: Answer) -> usize {
        self.steps.iter().filter(|step| step.1 == answer).count()
    }

    /// How often the thread was stopped before the very instruction.
    pub(crate) fn stopped(&self) -> usize {
        self.count(Answer::Stopped)
    }

    /// How often a signal found nobody who asked.
    pub(crate) fn not_asked(&self) -> usize {
        self.count(Answer::NotAsked)
    }

    /// The addresses at which it was.
    pub(crate) fn places(&self) -> BTreeSet<usize> {
        self.steps.iter().filter(|step| step.1 == Answer::Stopped).map(|step| step.0).collect()
    }

    /// The instructions in a range that were executed.
    pub(crate) fn executed(&self, range: &Range<usize>) -> BTreeSet<usize> {
        self.steps.iter().map(|step| step.0).filter(|at| range.contains(at)).collect()
    }

    /// Where it ended.
    pub(crate) fn end(&self) -> Option<usize> {
        self.steps.last().map(|step| step.0)
    }

    /// The runs of steps during which a collection waited for the thread: each begins with its first step.
    fn waits(&self) -> impl Iterator<Item = &[(usize, Answer)]> {
        let waits = |step: &(usize, Answer)| matches!(step.1, Answer::InSection | Answer::Waiting);
        self.steps.chunk_by(move |a, b| waits(a) && waits(b)).filter(move |run| waits(&run[0]))
    }

    /// Where collections waited without a signal having come: the thread held a lock, and which functions those were.
    fn without_signal(&self) -> impl Iterator<Item = &[(usize, Answer)]> {
        self.waits().filter(|run| run.iter().all(|step| step.1 == Answer::Waiting))
    }

    /// The most steps that a collection waited.
    pub(crate) fn longest_wait(&self) -> usize {
        self.waits().map(<[_]>::len).max().unwrap_or(0)
    }

    /// One line about it, and where collections waited without a signal.
    pub(crate) fn tell(&self, name: &str, symbols: &Symbols) {
        let longest = self.waits().max_by_key(|run| run.len());
        println!(
            "{name}: {} steps, {} collections; stopped there {} ({} addresses), in sections {}, waiting {}, without {}, \
             not asked {}, quiet {}; longest wait {}{}",
            self.steps(),
            self.collections,
            self.stopped(),
            self.places().len(),
            self.count(Answer::InSection),
            self.count(Answer::Waiting),
            self.count(Answer::Without),
            self.count(Answer::NotAsked),
            self.count(Answer::Quiet),
            self.longest_wait(),
            longest.map_or(String::new(), |run| format!(
                ", from {} to {}",
                symbols.name(run[0].0),
                symbols.name(run[run.len() - 1].0)
            ))
        );
        for (function, steps) in longest.map_or(Vec::new(), |run| most_in(run, symbols)) {
            println!("    of the longest wait {steps} steps in {function}");
        }
        let mut locked = BTreeMap::<_, (usize, usize)>::new();
        for run in self.without_signal() {
            let entry = locked.entry(symbols.name(run[0].0)).or_default();
            *entry = (entry.0 + 1, entry.1.max(run.len()));
        }
        for (function, (times, longest)) in locked {
            println!("    a lock was held in {function}: {times} times, {longest} steps at most");
        }
    }
}

/// The functions in which most of these steps were.
fn most_in(run: &[(usize, Answer)], symbols: &Symbols) -> Vec<(String, usize)> {
    let mut functions = BTreeMap::<String, usize>::new();
    for (at, _) in run {
        let name = symbols.name(*at);
        let function = name.rsplit_once('+').map_or(&*name, |(function, _)| function);
        *functions.entry(function.to_owned()).or_default() += 1;
    }
    let mut functions: Vec<_> = functions.into_iter().collect();
    functions.sort_by_key(|(_, steps)| core::cmp::Reverse(*steps));
    functions.truncate(3);
    functions
}
