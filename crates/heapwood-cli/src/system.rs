//! What the command asks of the operating system that no heap does: programs started and measured, and pieces of memory
//! tried out. It stands here and not in heapwood-os, so that nobody who only uses the library compiles it.
//!
//! | module | what it holds |
//! |---|---|
//! | `process` | programs that are started, measured and ended |
//! | `probe` | what the kernel does when it is asked |

pub(crate) mod probe;
pub(crate) mod process;
