//! The front: text becomes a [`Program`], which is plain data without a heap. A machine over any memory manager runs it.
//!
//! | file | what is in it |
//! |---|---|
//! | `error` | an error with its line |
//! | `op` | the instructions |
//! | `program` | the result: functions, texts, names |
//! | `native` | the functions that the machine itself has |
//! | `scanner` | text becomes tokens |
//! | `builder` | one function while it is compiled: instructions, locals, captured variables |
//! | `compiler` | what statements and expressions share |
//! | `expressions`, `statements` | the grammar |
//!
//! The compiler makes one pass without a tree, with Pratt's operator precedence, as clox of Robert Nystrom's "Crafting Interpreters"
//! does; locals and captured variables (upvalues) are resolved as there. Globals have numbers here, and some pairs of instructions are
//! one.

mod builder;
mod compiler;
mod error;
mod expressions;
mod native;
mod op;
mod program;
mod scanner;
mod statements;

pub use compiler::compile;
pub use error::LoxError;
pub use native::Native;
pub use op::{Compare, Op, remainder};
pub use program::{Captured, Function, INIT, MOST_SLOTS, Program};
