//! A garbage-collected heap as a library.
//!
//! ```
//! use heapwood::{Config, Gc, Heap, Trace};
//!
//! #[derive(Trace)]
//! struct Node {
//!     value: u64,
//!     next: Option<Gc<Node>>,
//! }
//!
//! // SAFETY: this program keeps `Gc`s on the stacks of attached threads, in objects and in roots only.
//! let heap = unsafe { Heap::new(Config::default()) }?;
//! let m = heap.attach()?;
//! let mut list = None;
//! for value in 0..1000 {
//!     list = Some(m.alloc(Node { value, next: list }));
//! }
//! m.collect();
//! assert_eq!(list.unwrap().next.unwrap().value, 998);
//! # Ok::<(), heapwood::HeapError>(())
//! ```
//!
//! Objects never move and are never dropped. A [`Gc`] is one word and `Copy`; the collector finds those on the stacks
//! of attached threads by scanning them conservatively, those in objects precisely, from the map that
//! `#[derive(Trace)]` computes. A [`Mutator`] is a thread's access to a heap. A [`GcCell`] is a pointer that may
//! change. A [`Root`] keeps an object alive from outside the heap.
//!
//! | file | content |
//! |---|---|
//! | `heap` | [`Heap`], and the contract of [`Heap::new`] |
//! | `attach` | [`Attached`]: a thread becomes a mutator |
//! | `mutator` | [`Mutator`]: allocating, polling |
//! | `finalized` | [`Finalized`] and [`DropQueue`]: values that are dropped when their objects are dead |
//! | `gc` | [`Gc`] |
//! | `gc_cell` | [`GcCell`] |
//! | `arena` | [`Arena`]: memory for values that die together |
//! | `slice` | [`Slice`]: arrays whose length is known at run time |
//! | `buffer` | [`Buffer`]: uninitialised memory without pointers |
//! | `checked` | reads that look whether the object is still there |
//! | `keep` | [`Kept`] and [`keep_alive`]: for references into objects |
//! | `root` | [`Root`] |
//! | `stack` | [`Stack`]: of fibers |
//! | `weak` | [`Weak`], [`Ephemeron`] |
//! | `weak_map` | [`WeakMap`], [`WeakSet`] |
//! | `trace` | [`Trace`](trait@Trace) and [`NoPointers`](trait@NoPointers) |
//! | `shared` | [`Shared`](trait@Shared) |

#[doc(hidden)]
pub mod __private;
mod arena;
mod attach;
mod buffer;
mod checked;
mod finalized;
mod gc;
mod gc_cell;
mod heap;
mod keep;
mod like_a_gc;
mod mutator;
mod root;
mod shared;
mod slice;
mod stack;
mod trace;
mod weak;
mod weak_map;

pub use arena::{Arena, ArenaRef, ArenaVec};
pub use attach::Attached;
pub use buffer::Buffer;
pub use finalized::{DropQueue, Finalized};
pub use gc::Gc;
pub use gc_cell::GcCell;
pub use heap::{AllocErrorHook, Heap};
pub use heapwood_derive::{NoPointers, Shared, Trace};
#[doc(inline)]
pub use heapwood_gc::PageSnapshot;
pub use heapwood_gc::memory_parts::{MEMORY_PARTS, MemoryParts, PartGroup, PartInfo};
#[doc(inline)]
pub use heapwood_gc::settings::options::{Concurrent, Generational, Stop};
pub use heapwood_gc::stats::{STATISTICS, StatInfo, StatKind, StatUnit, Stats};
#[doc(inline)]
pub use heapwood_gc::{
    AllocError, ClassParts, CollectionKind, CollectionMoment, CollectionTicket, Config, HeapError,
    MemoryAccount, Misuse, OPTIONS, OptionInfo, Refusal,
};
#[doc(inline)]
pub use heapwood_os::diagnose::message::{ReportHook, on_report};
pub use keep::{Kept, keep_alive};
pub use mutator::Mutator;
pub use root::Root;
pub use shared::Shared;
pub use slice::Slice;
pub use stack::Stack;
pub use trace::{NoPointers, Trace, TypeDescriptor, TypeMap, descriptor_of};
pub use weak::{Ephemeron, Weak};
pub use weak_map::{WeakMap, WeakSet};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
