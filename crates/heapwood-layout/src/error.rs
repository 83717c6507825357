//! Why the description of a type was refused. Each message carries the numbers that disagree. Invariant: an error holds
//! all that its message says, and nothing is allocated for it.
//!
//! | module | what was refused |
//! |---|---|
//! | `layout` | a size with a mask |
//! | `program` | bytes that are to be a program |
//! | `build` | a step of a builder |
//! | `nest` | a program that is to be loops |
//! | `describe` | a list of items, or a text |

mod build;
mod describe;
mod layout;
mod nest;
mod program;

pub use build::BuildError;
pub use describe::{DescribeError, DescribeErrorKind, Expected, ParseError};
pub use layout::LayoutError;
pub use nest::{NestError, NestErrorKind};
pub use program::{ProgramError, ProgramErrorKind};
