//! The collector under Heapwood: stopping, roots, marking, pacing, verification. Invariant: an object that the roots
//! reach when the threads have stopped is never freed.
//!
//! Users: the crates of Heapwood, and other interfaces over the collector that accept that it changes with them;
//! programs use `heapwood` or `heapwood-c`.
//!
//! A [`Heap`] is a space and everything needed to find its live objects. Threads join it through a [`Mutator`]; a
//! collection stops them, at polls (safepoints) or by signals, marks from the roots, in that stop or beside the program, and leaves
//! sweeping to allocation. This crate knows addresses and shapes; typed pointers belong to the crates above.
//!
//! | folder | contents |
//! |---|---|
//! | `entry` | what a thread calls: attach, allocate, free, hooks |
//! | `arenas` | arenas, as programs use them |
//! | `weak` | ephemerons, weak references and tables, links |
//! | `finalizers` | finalisers, and their queues |
//! | `heap` | the heap, its types, the room that the process leaves it |
//! | `background` | the heap's own thread: it sweeps, collects idle heaps, returns memory |
//! | `collect` | one collection, as a list of phases |
//! | `mark` | the marking loop, its work sharing, its bounded stack |
//! | `observe` | statistics, the phase clock, reports of collections, page snapshots, verify mode |
//! | `pause` | a stopped heap, for the phases of a collection |
//! | [`policy`] | when the next collection is due, and how large the heap may become |
//! | [`mutator`] | a thread's part in a heap: allocation buffers, safepoints, the write barrier |
//! | `roots` | global slots and ranges, handles, frames, stacks, held objects, and the walk over them |
//! | `process` | what a process has once: thread records, signal handlers, forks |
//! | `state` | what mutators and the collector share |
//! | [`settings`] | options, the variable `HEAPWOOD`, sizes |
//! | [`error`] | errors |
//! | [`inject`] | planted errors, for tests of the tests (`--cfg heapwood_inject`) |
//!
//! Most use those below them alone; no circle leads from file to file (`.ci/structure`).

mod arenas;
mod background;
mod collect;
mod entry;
pub mod error;
mod finalizers;
mod heap;
pub mod inject;
pub mod lock_order;
mod mark;
pub mod mutator;
mod observe;
mod pause;
pub mod policy;
mod process;
mod roots;
pub mod settings;
mod state;
mod weak;

pub use arenas::entry::{MutatorArenas, arena_handle_error};
pub use collect::{CollectionHook, CollectionKind, CollectionMoment};
pub use entry::attach::Attached;
pub use entry::chains::Chain;
#[doc(hidden)]
pub use entry::marking::IncrementalMarking;
pub use entry::tickets::CollectionTicket;
pub use error::{AllocError, HeapError, Misuse, Refusal};
pub use finalizers::FinalizerCall;
pub use finalizers::register::{FinalizeOrder, Finalized, FinalizerQueue, FinalizerToken};
pub use heap::inspect::{HeapInspector, QuietHeap};
pub use heap::memory::HeapMemory;
pub use heap::object_type::{Described, ObjectType, slice_scan};
pub use heap::objects::HeapObjects;
pub use heap::types::HeapTypes;
pub use heap::{Heap, HeapBox};
pub use heapwood_heap::{ClassParts, ObjectInfo};
pub use heapwood_pages::Snapshot as PageSnapshot;
pub use mark::{MarkEntry, ProcedureStack, Tracer};
pub use mutator::barrier::WriteBarrier;
pub use mutator::switch::MutatorStacks;
pub use mutator::types::MutatorTypes;
pub use mutator::{Client, Mutator};
pub use observe::MemoryAccount;
pub use observe::memory_parts::{self, MEMORY_PARTS, MemoryParts};
pub use observe::stats::{self, STATISTICS, Stats};
pub use process::checked::StalePointer;
pub use process::{is_in_verified_heap, may_find_stale_pointers, stale_pointer};
pub use roots::heap_roots::HeapRoots;
pub use roots::{ClientRoots, CollectionPhases, Frame, Frames, Handle, RootToken, StackGiven, StackRef};
pub use settings::environment::VARIABLE;
pub use settings::options::{Config, OPTIONS, OptionInfo};
pub use state::{AmbiguousWords, FreedBy, Interruption, ShadeCounts, Site};
pub use weak::tables::WeakEntry;
