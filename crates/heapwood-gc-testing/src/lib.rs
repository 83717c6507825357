//! What the tests of the collector share, and those of other crates that want a heap at the collector's own interface. No product
//! depends on it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@heaps`] | settings, heaps, mutators |
//! | [`objects`] | types and objects as plain addresses, lists that know what they hold |
//! | [`words`] | words of objects, written as beside a marker |
//! | [`roots`] | root slots and frames with guards |
//! | [`arena`] | arenas as plain functions |
//! | [`programs`] | small programs that make lists and check them |
//! | [`library`] | shared libraries made for a test |
//! | [`process`] | a test's body in a process of its own; forks; what a process has resident; its threads |
//! | [`settings`] | the variables that make tests longer, or play a seed again |
//! | [`rng`] | random numbers from a seed |
//! | [`disturb`] | a thread that collects all the time |
//! | [`model`] | the oracles' kinds of objects, and their graph of them |
//! | `planted` | planted errors and how often they were caught (`--cfg heapwood_inject`) |

#![allow(missing_docs, clippy::missing_safety_doc, reason = "names say what helpers of tests do")]

pub mod arena;
pub mod disturb;
pub mod heaps;
pub mod library;
pub mod model;
pub mod objects;
#[cfg(heapwood_inject)]
pub mod planted;
pub mod process;
pub mod programs;
pub mod rng;
pub mod roots;
pub mod settings;
pub mod words;

pub use arena::{Arena, Values};
pub use heaps::*;
pub use heapwood_layout::WORD;
pub use objects::*;
pub use process::{
    Child, Ended, Over, forked, in_child, resident, threads_called, wait_for, watched, within_a_minute,
};
pub use programs::{a_dropped_gibibyte, build_and_check};
pub use rng::Rng;
pub use roots::{Framed, Slots, handle};
pub use settings::{is_long, is_thorough};

pub const MIB: usize = 1 << 20;
