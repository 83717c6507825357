//! The collector under Heapwood: stopping, roots, marking, pacing, verification.
//! Invariant: whatever can be reached from the roots when the threads have stopped is never freed.
//!
//! Who may use it: the crates of Heapwood, and other interfaces over the collector that accept that it changes with them;
//! programs take `heapwood` or `heapwood-c`.
//!
//! A [`Heap`] is a space with everything needed to find what in it is alive. Threads join it through a
//! [`Mutator`]; a collection stops them at polls (safepoints), marks from the roots, and leaves sweeping to allocation. This
//! crate speaks of addresses and shapes; typed pointers are the business of those above.
//!
//! | module | what it holds |
//! |---|---|
//! | `heap` | the heap, as those above see it |
//! | `attach` | threads join and leave |
//! | `allocate`, `free` | a mutator's allocation, fast and slow; what it frees itself |
//! | `arena`, `external` | memory for what dies together; what of it lives in the heap |
//! | `types` | the types of objects |
//! | `background` | the heap's own thread: it sweeps, collects idle heaps, gives memory back |
//! | `collect` | one collection, as a list of phases |
//! | `pause` | a stopped heap, as those phases see it |
//! | [`policy`] | when the next collection is due, and how large the heap may become |
//! | `room` | what the process leaves a heap: addresses and memory |
//! | `observe` | figures, the phase clock, what is told of collections, snapshots of the pages, the checks of verify mode |
//! | [`mutator`] | a thread's part in a heap: allocation buffers, safepoints, the write barrier |
//! | `mark` | the marking loop, its rings, its bounded stack |
//! | `roots` | global slots and ranges, handles, frames, stacks, and the walk over them |
//! | `fork` | what a heap does when its process forks |
//! | `process` | what there is once a process: threads' records, handlers of signals |
//! | `state` | what mutators and the collector share |
//! | [`options`], `environment` | what a heap is made with, and the variable `HEAPWOOD` |
//! | [`error`] | why something was refused |
//! | [`size`] | sizes as people write them |
//! | [`inject`] | faults to inject, for tests of the tests (`--cfg heapwood_inject`) |
//!
//! Each may use those below it, and no circle of files leads back.

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
