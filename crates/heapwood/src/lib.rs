//! A garbage-collected heap as a library, without `unsafe`:
//!
//! ```
//! use heapwood::session::{Gc, Rootable, Session};
//! use heapwood::{Config, GcCell, Trace};
//!
//! #[derive(Trace)]
//! struct Node<'gc> {
//!     value: u64,
//!     next: Option<Gc<'gc, Node<'gc>>>,
//! }
//!
//! #[derive(Trace, Rootable)]
//! struct Root<'gc> {
//!     list: GcCell<Option<Gc<'gc, Node<'gc>>>>,
//! }
//!
//! let mut session = Session::<Root>::new(Config::default(), |_| Root { list: GcCell::new(None) })?;
//! for value in 0..1000 {
//!     session.mutate(|m, root| root.list.set(m, Some(m.alloc(Node { value, next: root.list.get() }))));
//! }
//! session.collect();
//! assert_eq!(session.mutate(|_, root| root.list.get().unwrap().next.unwrap().value), 998);
//! # Ok::<(), heapwood::HeapError>(())
//! ```
//!
//! There are two ways to use it:
//!
//! | | a [session](session::Session) | [`Heap::new`] |
//! |---|---|---|
//! | `unsafe` | none | once: a promise that `Gc`s are kept on stacks of attached threads, in objects and in roots |
//! | access | one closure at a time, in which nothing is collected | a mutator, which may collect at any allocation |
//! | threads | one | several, which share objects |
//! | beside that | | arenas, finalisers, roots on any thread, fibers |
//!
//! The other way looks so:
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
//! Objects never move and are never dropped. A [`Gc`] is one word and `Copy`; the collector finds those in objects precisely, from the
//! map that `#[derive(Trace)]` computes, and without a session those on the stacks of attached threads by scanning them conservatively. A
//! [`Mutator`] is a thread's access to a heap. A [`GcCell`] is a value that may change. A [`Root`] keeps an object alive from outside the
//! heap.
//!
//! | for | there is |
//! |---|---|
//! | text, elements, memory without pointers | [`GcStr`], [`Slice`], [`Buffer`] |
//! | pointers and values that change | [`GcCell`] |
//! | collections that grow | [`GcVec`], [`GcMap`], [`GcString`] |
//! | objects that are kept from outside the heap, on any thread | [`Root`] |
//! | references into objects, in a `Vec` or a `Box` | [`Mutator::keep`], [`keep_alive`] |
//! | keys by identity | [`ById`] |
//! | objects that die together | [`Arena`] |
//! | files and buffers that objects own | [`Finalized`], [`DropQueue`] |
//! | what keeps nothing alive | [`Weak`], [`Ephemeron`], [`WeakMap`], [`WeakSet`] |
//! | threads | [`Shared`](trait@Shared), [`Mutator::blocking`], [`Heap::with_mutator`] |
//! | fibers | [`Stack`] |
//! | any error | [`Error`] |

// Of the files, `trace` has the traits of types in the heap, `plain` the types without pointers, `checked` reads that look whether the
// object is still there, and `like_a_gc` what weak references and tables have in common; the others have the names of their types.
#[doc(hidden)]
pub mod __private;
mod access;
mod aliases;
mod arena;
mod attach;
mod buffer;
mod by_id;
mod checked;
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
mod plain;
mod root;
pub mod session;
mod shared;
mod slice;
mod stack;
mod trace;
mod unbranded;
mod weak;
mod weak_map;

pub use access::Access;
pub use aliases::{Ephemeron, GcMap, GcString, GcVec, Weak, WeakMap, WeakSet};
pub use arena::{Arena, ArenaRef, ArenaVec};
pub use attach::Attached;
pub use buffer::Buffer;
pub use by_id::ById;
pub use error::Error;
pub use finalized::{DropQueue, Finalized};
pub use gc_cell::{CellValue, GcCell};
pub use gc_str::GcStr;
pub use heap::{AllocErrorHook, Heap};
pub use heapwood_derive::{CellValue, NoPointers, Shared, Trace};
#[doc(inline)]
pub use heapwood_gc::PageSnapshot;
pub use heapwood_gc::memory_parts::{MEMORY_PARTS, MemoryParts, PartGroup, PartInfo};
#[doc(inline)]
pub use heapwood_gc::settings::options::{Concurrent, GcTrace, Generational, Stop};
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
pub use unbranded::Gc;

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
