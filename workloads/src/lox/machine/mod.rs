//! The machine: runs a compiled program in either kind of heap, from one source.
//!
//! | file | what is in it |
//! |---|---|
//! | `value` | values, and the objects that they lead to |
//! | `show` | what `print` shows of them |
//! | `objects` | classes and instances |
//! | `state` | what lies in the heap: the globals, and a program that waits |
//! | `captured` | variables that move from the stack into the heap |
//! | `operators` | `+` of texts |
//! | `elements` | lists and maps |
//! | `natives` | the functions of the machine |
//! | `host` | what a machine has outside of the heap |
//! | `calls` | calls of what is no closure; fields and methods by name |
//! | `run` | the loop over the instructions |
//!
//! While a program runs, its values and frames lie in two arrays on the thread's own stack, where stores need no barrier: a heap without
//! a session scans that, and in a session nothing is collected meanwhile. A session's program returns when a collection is due, with
//! both arrays copied into the [`State`], and goes on later. So no value is in a `Vec` or a `Box`.

mod calls;
mod captured;
mod elements;
mod host;
mod natives;
mod objects;
mod operators;
mod run;
mod show;
mod state;
mod value;

pub use host::{Machine, Progress};
pub use state::State;
