//! `heapwood bench layout`: what it costs to say where the pointers of an object are, for the types of Go's SetType
//! benchmarks (Cox, Go commit 512f75e8, 2015): when it is allocated, when its layout is written as bits in one of four
//! ways, and when the pointers are found. Invariant: all forms of a type were found to have the same pointers before
//! anything is timed, and a round has one stretch of everything, so that a slow moment of the machine falls on all alike.
//!
//! | module | what it holds |
//! |---|---|
//! | `stretch` | what is timed, and for how long |
//! | `types` | the types, and what others measured |
//! | `forms` | a type in all forms, and the work with each |
//! | `bits` | copying bits to a place, and what a heap writes into spans that types share |
//! | `objects` | a heap that objects of the types are allocated from |
//! | `rates` | patterns, and how fast they are decoded |
//! | `report` | all that was measured, and its form for machines |
//! | `tables` | its form for people |

mod bits;
mod forms;
mod objects;
mod rates;
mod report;
mod stretch;
mod tables;
mod types;

use crate::args::Bench;
use crate::bench::progress::Progress;
use crate::failure::Failure;
use crate::output::json;
use forms::Forms;
use objects::Objects;
use rates::Rate;
use report::Report;

pub(crate) fn run(args: &Bench) -> Result<(), Failure> {
    let bar = Progress::new();
    let mut rates: Vec<Rate> = rates::all()?;
    let mut types: Vec<Forms> = types::ALL.iter().map(Forms::new).collect::<Result<_, _>>()?;
    let mut objects = Objects::new(&types::ALL)?;
    let rounds = args.runs() + 1;
    bar.expect(u64::from(rounds));
    for round in 0..rounds {
        // The first round finds out how often each is to be repeated.
        let measuring = round > 0;
        bar.show(if measuring { "measuring".into() } else { "warming up".into() });
        objects.round(measuring)?;
        types.iter_mut().for_each(|forms| forms.round(measuring));
        rates.iter_mut().for_each(|rate| rate.round(measuring));
        bar.advance();
    }
    bar.finish();

    let report = Report::new(args, &types, &objects, &rates);
    if args.json {
        json(&report)?;
    } else {
        tables::print(&report);
    }
    Ok(())
}
