//! `heapwood-eval layouts`: what it costs to say where the pointers of an object are, for the types of Go's SetType
//! benchmarks (Cox, Go commit 512f75e8, 2015): when it is allocated, when its layout is written as bits in one of four
//! ways, and when the pointers are found. Invariant: all forms of a type were found to have the same pointers before
//! anything is timed, and a round has one stretch of everything, so that a slow moment of the machine falls on all alike.
//!
//! | module | what it holds |
//! |---|---|
//! | `types` | the types, and what others measured |
//! | `forms` | a type in all forms, and the work with each |
//! | `bits` | copying bits to a place, and what a heap writes into spans that types share |
//! | `attached` | a heap with this thread's mutator |
//! | `objects` | a heap that objects of the types are allocated from |
//! | `patterns` | patterns of pointers, as programs and in the older form |
//! | `recursive` | the older form of programs |
//! | `report` | all that was measured, and its form for machines |
//! | `tables` | its form for people |

mod attached;
mod bits;
mod forms;
mod objects;
pub(crate) mod patterns;
mod recursive;
mod report;
mod tables;
mod types;

use crate::args::Layouts;
use crate::timing::{Clock, rounds};
use forms::Forms;
use heapwood_report::{CommandError, Progress};
use objects::Objects;
use report::Report;

pub(crate) fn run(args: &Layouts) -> Result<(), CommandError> {
    let (bar, clock) = (Progress::new(), Clock::new());
    let mut patterns = patterns::all()?;
    patterns.retain(|pattern| pattern.go.is_some());
    let mut types: Vec<Forms> = types::ALL.iter().map(Forms::new).collect::<Result<_, _>>()?;
    let mut objects = Objects::new(&types::ALL)?;
    rounds(args.runs.k, &bar, 1, |measuring| {
        bar.show(if measuring { "measuring".into() } else { "warming up".into() });
        objects.round(&clock, measuring)?;
        types.iter_mut().for_each(|forms| forms.round(&clock, measuring));
        patterns.iter_mut().for_each(|pattern| pattern.round(&clock, measuring));
        bar.advance();
        Ok(())
    })?;
    bar.finish();
    args.output.show("layouts", &Report::new(args, &types, &objects, &patterns))
}
