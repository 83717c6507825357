//! What became of each step of a window: at which instructions the thread was stopped, and where it took longer.

use super::lead::{Began, Step};
use heapwood_gc::Interruption;

/// What became of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The thread was stopped before this instruction.
    Stopped,
    /// A signal came there in a no-preempt region, and the thread went on.
    InSection,
    /// A collection waits: for the end of a no-preempt region in which its signal came, or for a lock that the thread holds.
    Waiting,
    /// A signal came there when it was not wanted any more, or the thread had left the heap.
    NotAsked,
    /// A collection was made without this thread, or nobody was asked for one.
    Other,
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
                (Began::Collected | Began::Quiet, _) => Answer::Other,
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

    /// The runs of steps during which a collection waited for the thread: each begins with its first step.
    fn waits(&self) -> impl Iterator<Item = &[(usize, Answer)]> {
        let waits = |step: &(usize, Answer)| matches!(step.1, Answer::InSection | Answer::Waiting);
        self.steps.chunk_by(move |a, b| waits(a) && waits(b)).filter(move |run| waits(&run[0]))
    }

    /// The most steps that a collection waited.
    pub(crate) fn longest_wait(&self) -> usize {
        self.waits().map(<[_]>::len).max().unwrap_or(0)
    }

    /// One line about it.
    pub(crate) fn tell(&self, name: &str) {
        let (steps, collections, stopped) = (self.steps(), self.collections, self.stopped());
        println!("{name}: {steps} steps, {collections} collections, stopped there {stopped} times");
    }
}
