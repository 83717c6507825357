//! Code that the command `heapwood` and the evaluation share: command lines and exit codes, messages and output,
//! statistics and their presentation.
//!
//! | module | contents |
//! |---|---|
//! | [`program`] | from a command line to an exit code |
//! | [`arguments`] | argument values of both |
//! | [`error`] | messages and exit codes |
//! | [`legible`] | messages on standard error, and names in them |
//! | [`output`] | lines for standard output, and files |
//! | [`input`] | input files, read whole |
//! | [`size`] | sizes as people write them |
//! | [`spread`] | median, minimum, maximum, geometric mean, and the test for a difference |
//! | [`header`] | the header of a report |
//! | [`machine`] | the machine, as the kernel reports it |
//! | [`tables`] | tables for people |
//! | [`picture`], [`bars`] | SVG pictures, and bar charts |
//! | [`progress`] | the progress bar |
//! | [`page_samples`] | page samples as files |
//! | `testing` | runs of a program in its tests (feature `testing`) |

pub mod arguments;
pub mod bars;
pub mod error;
pub mod header;
pub mod input;
pub mod legible;
pub mod machine;
pub mod output;
pub mod page_samples;
pub mod picture;
pub mod program;
pub mod progress;
pub mod size;
pub mod spread;
pub mod tables;
#[cfg(feature = "testing")]
pub mod testing;

pub use error::CommandError;
pub use header::Header;
pub use progress::Progress;
pub use spread::Spread;
