//! Errors of descriptions of types. Each message has the numbers that contradict each other. Invariant: an error holds
//! everything that its message says, and nothing is allocated for it.
//!
//! | module | errors of |
//! |---|---|
//! | `layout` | a size with a mask |
//! | `program` | the bytes of a program |
//! | `build` | a step of a builder |
//! | `nest` | compiling a program into loops |
//! | `describe` | a list of items, or a text |
//! | `tag` | a tag |

mod build;
mod describe;
mod layout;
mod nest;
mod program;
mod tag;

pub use build::BuildError;
pub use describe::{DescribeError, DescribeErrorKind, Expected, ParseError};
pub use layout::LayoutError;
pub use nest::{NestError, NestErrorKind};
pub use program::{ProgramError, ProgramErrorKind};
pub use tag::TagError;
