//! Calls of the operating system that no heap needs: programs are started and measured, and memory is tried. They are
//! not in heapwood-os, so that users of the library do not compile them.
//!
//! | module | content |
//! |---|---|
//! | `process` | starting, measuring and ending programs |
//! | `probe` | trials of kernel calls |

pub(crate) mod probe;
pub(crate) mod process;
