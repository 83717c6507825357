//! What a heap does in a thread of its own: it sweeps after collections, takes back what idle threads have cached, collects
//! a heap that has nothing to do, and gives memory back.
//!
//! | file | what it holds |
//! |---|---|
//! | `heap_thread` | a thread of a heap's own: its start and its end |
//! | `thread` | the thread for slow work |
//! | `marker_thread` | the thread that marks beside the program |
//! | `background_loop` | what it does next, and how long it sleeps |
//! | `sweeper` | sweeping, paced |
//! | `idle_cache_flusher` | threads that are blocked return what they have cached |
//! | `idle_collector` | when a heap is idle, and collecting it then |
//! | `arenas` | memory that no arena needs goes back |
//! | `scavenger` | which memory goes back, paced |
//! | `figures` | what the thread has done |
//! | `simulated_clock_tests` | a day of the worker under a clock of the test's |
//!
//! Invariants: it keeps nobody waiting but for a batch of spans, or for one mutator's being emptied; when there is nothing to
//! do it sleeps without a timer. It ends before its heap does.

mod background_loop;
mod figures;
mod heap_thread;
mod idle_cache_flusher;
mod idle_collector;
mod marker_thread;
mod scavenger;
#[cfg(all(test, not(loom)))]
mod simulated_clock_tests;
mod sweeper;
mod thread;

pub(crate) use figures::Figures;
pub(crate) use marker_thread::MarkerThread;
pub(crate) use thread::{Background, SlowWork};
