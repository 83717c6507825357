//! The collector under Heapwood: stopping, roots, marking, pacing, verification. Invariant: an object that the roots
//! reach when the threads have stopped is never freed.
//!
//! Users: the crates of Heapwood, and other interfaces over the collector that accept that it changes with them;
//! programs use `heapwood` or `heapwood-c`.
//!
//! A [`Heap`] is a space and everything needed to find its live objects. Threads join it through a [`Mutator`]; a
//! collection stops them at polls (safepoints), marks from the roots, and leaves sweeping to allocation. This crate
//! knows addresses and shapes; typed pointers belong to the crates above.
//!
//! | module | contents |
//! |---|---|
//! | `heap` | the heap |
//! | `attach` | attaching and detaching threads |
//! | `allocate`, `free` | a mutator's allocation, fast path and slow path; explicit frees |
//! | `arena`, `external` | memory for objects that die together; its part inside the heap |
//! | `types` | the types of objects |
//! | `background` | the heap's own thread: it sweeps, collects idle heaps, returns memory |
//! | `collect` | one collection, as a list of phases |
//! | `pause` | a stopped heap, for those phases |
//! | [`policy`] | when the next collection is due, and how large the heap may become |
//! | `room` | the addresses and memory that the process leaves a heap |
//! | `observe` | statistics, the phase clock, reports of collections, page snapshots, the checks of verify mode |
//! | [`mutator`] | a thread's part in a heap: allocation buffers, safepoints, the write barrier |
//! | `mark` | the marking loop, its rings, its bounded stack |
//! | `roots` | global slots and ranges, handles, frames, stacks, and the walk over them |
//! | `fork` | a heap's part in a fork |
//! | `process` | state that a process has once: thread records, signal handlers |
//! | `state` | the state that mutators and the collector share |
//! | [`options`], `environment` | the options of a heap, and the variable `HEAPWOOD` |
//! | [`error`] | errors |
//! | [`size`] | sizes as people write them |
//! | [`inject`] | planted errors, for tests of the tests (`--cfg heapwood_inject`) |
//!
//! Each may use those below it, and there is no cycle of files.

mod allocate;
mod arena;
mod attach;
mod background;
mod collect;
mod environment;
pub mod error;
mod external;
mod fork;
mod free;
mod heap;
pub mod inject;
mod mark;
pub mod mutator;
mod observe;
pub mod options;
mod pause;
pub mod policy;
mod process;
mod room;
mod roots;
pub mod size;
mod state;
mod types;

pub use arena::refuse_arena;
pub use attach::Attached;
pub use environment::VARIABLE;
pub use error::{
    AllocError, ArenaError, FreeError, HandleError, HeapError, MisuseError, OptionError, RootError,
    SettingError, SizeError, StackError, TypeError,
};
pub use heap::{Heap, HeapBox};
pub use heapwood_pages::Snapshot as PageSnapshot;
pub use mark::Tracer;
pub use mutator::{Client, Mutator};
pub use observe::stats::{self, STATISTICS, Stats};
pub use options::{Config, OPTIONS, OptionInfo};
pub use roots::{Frame, Handle, RootToken, StackGiven, StackRef};
pub use state::Interruption;
pub use types::{Described, ObjectType, slice_scan};
