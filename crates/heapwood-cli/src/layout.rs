//! `heapwood layout`: prints and checks layout programs, which describe the pointers of a type. Invariant: no
//! allocation depends on the size of the described type, so a type of 2^60 words costs no more than one of two. The
//! encoding goes back to Cox (Go commit 512f75e8, 2015).
//!
//! | module | content |
//! |---|---|
//! | `source` | the bytes of a program: from a file, or for a type |
//! | `facts` | the facts about a program besides its instructions |

mod facts;
mod source;

use crate::args::{Check, Layout, Show};
use facts::{Accepted, Refused, Shown};
use heapwood_layout::program::{Program, text};
use heapwood_report::CommandError;
use heapwood_report::output::json;
use heapwood_report::say;
use source::Source;

pub(crate) fn run(command: &Layout) -> Result<(), CommandError> {
    match command {
        Layout::Show(args) => show(args),
        Layout::Check(args) => check(args),
    }
}

fn show(args: &Show) -> Result<(), CommandError> {
    let source = Source::find(&args.what, args.words)?;
    match Program::check(&source.bytes, source.words) {
        Ok(program) if args.json => json(&Shown::of(&source, &program)),
        Ok(program) => {
            // Ends with a newline.
            say!("{program}");
            say!("{}", Accepted::of(&program));
            Ok(())
        }
        Err(wrong) => {
            // The instructions before the error are useful. With --json there is either an object or a message.
            if !args.json {
                say!("{}", text::describe(&source.bytes));
            }
            Err(CommandError::run(format!("{}: {wrong}", source.name)))
        }
    }
}

fn check(args: &Check) -> Result<(), CommandError> {
    let source = Source::file(&args.file, args.words)?;
    match Program::check(&source.bytes, source.words) {
        Ok(program) if args.json => json(&Accepted::of(&program)),
        Ok(program) => {
            say!("{}: accepted: {}", source.name, Accepted::of(&program));
            Ok(())
        }
        Err(wrong) => {
            if args.json {
                json(&Refused::of(&wrong))?;
            }
            Err(CommandError::run(format!("{}: {wrong}", source.name)))
        }
    }
}
