//! `heapwood-eval layouts`: the cost of describing an object's pointers, for the types of Go's SetType benchmarks (Cox,
//! Go commit 512f75e8, 2015): at allocation, when its layout is written as bits in one of four ways, and when the
//! pointers are found. Invariant: before anything is timed, all forms of a type were compared and have the same
//! pointers. A round has one stretch of everything, so that a slow moment of the machine affects all alike.
//!
//! | module | content |
//! |---|---|
//! | `types` | the types, and published measurements |
//! | `forms` | a type in all forms, and the operations on each |
//! | `bits` | copying bits to any bit address |
//! | `attached` | a heap with this thread's mutator |
//! | `objects` | a heap that objects of the types are allocated from |
//! | `patterns` | long patterns of pointers, as programs and in the older form |
//! | `recursive` | the older form of programs |
//! | `report` | the report, and its JSON |
//! | `tables` | its tables |

mod attached;
mod bits;
mod forms;
mod objects;
mod patterns;
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
    args.output.show(&Report::new(args, &types, &objects, &patterns))
}
