//! The collector under Heapwood: stopping, roots, marking, pacing, verification.
//!
//! Who may use it: the crates of Heapwood, and other interfaces over the collector that accept that it changes with them;
//! programs take `heapwood` or `heapwood-c`.
//!
//! A [`Heap`] is a space with everything needed to find what in it is alive. Threads join it through a
//! [`Mutator`]; a collection stops them at polls, marks from the roots, and leaves sweeping to allocation. This
//! crate speaks of addresses and shapes; typed pointers are the business of those above.
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`], [`error`] | what a heap is made with; why something was refused |
//! | [`heap`] | the heap |
//! | [`types`] | the types of its objects |
//! | [`mutator`] | a thread's part in a heap: allocation, polls, frames |
//! | `attach` | threads join and leave |
//! | `thread` | what the process has for each thread: its mutators, and their end |
//! | [`stop`] | the protocol that stops mutators |
//! | [`roots`] | global slots and ranges, handles |
//! | [`mark`] | the marking loop, its rings, its bounded stack |
//! | [`cycle`] | one collection, from the sweep before it to the resume |
//! | `watch` | pictures of the pages, for those who study heaps |
//! | [`pace`] | when the next collection is due, and how often near a limit |
//! | `room` | what the process leaves a heap: addresses and memory |
//! | `scavenger` | the thread that gives memory back, and sweeps for it |
//! | [`barrier`] | stores of pointers into objects |
//! | [`verify`] | the checks of verify mode |
//! | [`stats`] | what the collector has done |
//! | `plant` | errors to plant, for tests of the tests (a feature) |

mod attach;
pub mod barrier;
pub mod config;
pub mod cycle;
pub mod error;
pub mod heap;
pub mod mark;
pub mod mutator;
pub mod pace;
#[cfg(feature = "plant")]
pub mod plant;
mod room;
pub mod roots;
mod scavenger;
pub mod stats;
pub mod stop;
mod thread;
pub mod types;
pub mod verify;
mod watch;

pub use config::Config;
pub use error::{AllocError, HeapError, Misuse, TypeError};
pub use heap::{Heap, HeapBox};
pub use heapwood_pages::Snapshot as PageSnapshot;
pub use mark::tracer::Tracer;
pub use mutator::{CLIENT_WORDS, Client, Frame, Mutator};
pub use roots::{HandleError, RootError, RootToken};
pub use stats::Stats;
pub use types::{Described, ObjectType};
