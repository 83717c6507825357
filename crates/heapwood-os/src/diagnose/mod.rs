//! Diagnostics: messages without allocation, and the state of threads as the kernel reports it.

pub mod backtrace;
pub mod message;
pub mod task;
