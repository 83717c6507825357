//! Diagnostics: messages without allocation, the state of threads as the kernel reports it, and what AddressSanitizer is told.

pub mod asan;
pub mod backtrace;
pub mod message;
pub mod task;
