//! Diagnostics: messages without allocation, and the state of threads as the kernel reports it.

pub mod asan;
pub mod backtrace;
pub mod message;
pub mod task;
