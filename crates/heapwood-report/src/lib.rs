//! What the command `heapwood` and the evaluation share: how a program takes its command line and ends, how its messages
//! and output reach people and machines, and how what was measured is told.
//!
//! | module | what it holds |
//! |---|---|
//! | [`program`] | from a command line to an exit code |
//! | [`arguments`] | values that command lines of both have |
//! | [`error`] | messages and exit codes |
//! | [`legible`] | messages on standard error, and the names in them |
//! | [`output`] | lines for standard output, and files |
//! | [`input`] | files that are read whole |
//! | [`size`] | sizes as people write them |
//! | [`spread`] | median, least, most, and whether two programs differ |
//! | [`estimate`] | median and how sure it is |
//! | [`comparison`] | two settings by one quantity |
//! | [`gobench`] | lines for benchstat |
//! | [`header`] | what was measured, when and on what |
//! | [`machine`] | the machine, as far as the kernel tells |
//! | [`tables`] | tables for people |
//! | [`picture`], [`bars`] | what pictures have in common, and one of them |
//! | [`progress`] | the bar on a terminal |
//! | [`page_samples`] | the pages of a heap as files |
//! | `testing` | running a program and looking at what it says (feature `testing`) |

pub mod arguments;
pub mod bars;
pub mod comparison;
pub mod error;
pub mod estimate;
pub mod gobench;
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
