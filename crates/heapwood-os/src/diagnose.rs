//! Reports for people: messages without allocation, and the state of threads as the kernel tells it.

pub mod backtrace;
pub mod message;
pub mod slow_thread;
pub mod task;
