//! Settings: the options of a heap, the variable `HEAPWOOD` that sets them from outside, and sizes and times as people write
//! them.

pub(crate) mod environment;
pub mod options;
pub mod size;
pub mod time;
