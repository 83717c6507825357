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
//! `#[derive(Trace)]` computes. A [`Mutator`] is a thread's access to a heap. A [`GcCell`] is a pointer, or a small
//! value, that may change. A [`Root`] keeps an object alive from outside the heap.
//!
//! [`GcVec`], [`GcMap`] and [`GcString`] grow, as fields of objects or objects of their own; a [`RootVec`] is a root that grows.
//!
//! An [`Arena`] is memory for values that die together. [`Slice`], [`GcStr`] and [`WithTail`] have a length that is known at run
//! time. [`Weak`], [`Ephemeron`], [`WeakMap`] and [`WeakSet`] keep nothing alive that nothing else leads to, and a [`Finalized`]
//! value is dropped when its object is dead. [`Error`] is what all errors convert into.

// | file | content |
// |---|---|
// | `heap` | `Heap`, and the contract of `Heap::new` |
// | `attach` | `Attached`: a thread becomes a mutator |
// | `mutator` | `Mutator`: allocating, polling |
// | `finalized` | `Finalized` and `DropQueue`: values that are dropped when their objects are dead |
// | `gc` | `Gc` |
// | `error` | `Error`: all errors in one |
// | `by_id` | `ById`: a key by identity |
// | `gc_cell` | `GcCell`: a value in an object that changes |
// | `place` | `Slot`; loads and stores of values of any width |
// | `collections` | `GcVec`, `GcMap`, `GcString`, `RootVec` |
// | `arena` | `Arena`: memory for values that die together |
// | `slice` | `Slice`: arrays whose length is known at run time |
// | `gc_str` | `GcStr`: text |
// | `with_tail` | `WithTail`: a header and elements behind it |
// | `births` | in verify mode, the types of objects, for reports |
// | `buffer` | `Buffer`: uninitialised memory without pointers |
// | `keep` | `Kept` and `keep_alive`: for references into objects |
// | `root` | `Root` |
// | `stack` | `Stack`: of fibers |
// | `weak` | `Weak`, `Ephemeron` |
// | `weak_map` | `WeakMap`, `WeakSet` |
// | `session` | `Session`: the safe door
// | `trace` | `Trace` and `NoPointers` |
// | `plain` | types of the standard library that hold no pointer |
// | `shared` | `Shared` |
// | `scanned` | `Scanned`: an allocator whose blocks are scanned |
// | `watched` | `Watched`: an allocator for tests, which knows the blocks that hold lost pointers |
// | `words` | the search of memory for words in a range of addresses |

#[doc(hidden)]
pub mod __private;
mod arena;
mod attach;
mod births;
mod buffer;
mod by_id;
mod collections;
mod error;
mod finalized;
mod gc;
mod gc_cell;
mod gc_str;
mod heap;
mod keep;
mod like_a_gc;
mod mutator;
mod place;
mod plain;
mod root;
mod scanned;
pub mod session;
mod shared;
mod slice;
mod stack;
mod trace;
mod watched;
mod weak;
mod weak_map;
mod with_tail;
mod words;

pub use arena::{Arena, ArenaRef, ArenaVec};
pub use attach::Attached;
pub use buffer::Buffer;
pub use by_id::ById;
pub use collections::{GcMap, GcMapIter, GcString, GcVec, GcVecIter, RootVec};
pub use error::Error;
pub use finalized::{DropQueue, Finalized};
pub use gc::Gc;
pub use gc_cell::{GcCell, Pointer};
pub use gc_str::GcStr;
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
    AllocError, ArenaError, ClassParts, CollectionKind, CollectionMoment, CollectionTicket, Config,
    ExternalError, FinalizeError, FreeError, HandleError, HeapError, MemoryAccount, MisuseError, OPTIONS,
    OptionError, OptionInfo, RootError, StackError,
};
pub use keep::{Kept, keep_alive};
pub use mutator::{Away, Mutator};
pub use place::Slot;
pub use root::Root;
pub use scanned::Scanned;
pub use shared::Shared;
pub use slice::Slice;
pub use stack::Stack;
pub use trace::{NoPointers, Trace, TypeDescriptor, TypeMap, descriptor_of};
pub use watched::Watched;
pub use weak::{Ephemeron, Weak};
pub use weak_map::{WeakMap, WeakSet};
pub use with_tail::WithTail;

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
