//! Threads and their synchronisation: futexes, locks, fences, signals to single threads, stacks. Nothing here
//! allocates.

pub mod cache_padded;
pub mod cancellation;
pub mod futex;
pub mod lock;
pub mod lock_order;
pub mod membarrier;
pub mod signal;
pub mod stack;
pub mod sync;
pub mod thread;
pub mod thread_value;
pub mod watched;
