//! A safe door to a heap. A session shows its objects inside [`Session::mutate`] alone: nothing is collected there, so pointers may
//! lie anywhere; and everything that points has a lifetime that ends with the call, so outside there is nothing but the root.
//! Invariant: no pause of the heap overlaps with a call, and no pointer of one call is seen in another. The shape, generativity and
//! a brand that is invariant, is that of the crate gc-arena.
//!
//! ```
//! #![forbid(unsafe_code)]
//! use heapwood::session::{Gc, GcCell, Mutation, Session};
//! use heapwood::{Config, Rootable, Trace};
//!
//! #[derive(Trace)]
//! struct Node<'gc> {
//!     value: u64,
//!     next: Option<Gc<'gc, Node<'gc>>>,
//! }
//!
//! #[derive(Trace)]
//! struct Top<'gc> {
//!     list: GcCell<Option<Gc<'gc, Node<'gc>>>>,
//! }
//!
//! fn push<'gc>(m: &'gc Mutation<'gc>, top: &'gc Top<'gc>, value: u64) {
//!     top.list.set(m, Some(m.alloc(Node { value, next: top.list.get() })));
//! }
//!
//! let mut session = Session::<Rootable![Top<'_>]>::new(Config::default(), |_| Top { list: GcCell::new(None) })?;
//! for value in 0..1000 {
//!     session.mutate(|m, top| push(m, top, value));
//! }
//! session.collect();
//! let sum = session.mutate(|_, top| {
//!     // Any collection may hold them: nothing is collected here.
//!     let mut nodes: Vec<Gc<Node>> = std::iter::successors(top.list.get(), |node| node.next).collect();
//!     nodes.sort_by_key(|node| node.value);
//!     nodes.iter().map(|node| node.value).sum::<u64>()
//! });
//! assert_eq!(sum, 499_500);
//! # Ok::<(), heapwood::Error>(())
//! ```
//!
//! Types derive [`Trace`](crate::Trace) as for the other door, with the lifetime `'gc` of the pointers in them.
//!
//! **Collections come between two calls** of [`Session::mutate`], when what was allocated says so, or on [request](Session::collect).
//! A call that goes on and on only adds to the heap, up to its [limit](crate::Config::limit), at which it gets an
//! [error](Mutation::try_alloc); an interpreter leaves it now and then ([`Session::run`], [`Fuel`]). Where several threads have sessions
//! of one [`SessionHeap`], a collection waits for the longest call.
//!
//! **Inside a call** `Vec`, `Box`, `HashMap`, closures, references, sorting and scoped threads are used as everywhere in Rust. A [`Gc`] is
//! `Send` if its object is `Sync`, like a reference, so threads of a scope may read one structure together. What is not to end with
//! the call is stored into the root, or [stashed](Mutation::stash).

// | file | content |
// |---|---|
// | `calls` | `Session`: calls of `mutate` |
// | `rootable` | `Rootable`: a root for each lifetime |
// | `part`, `seat` | a thread's part in the heap, with its values; entering and leaving |
// | `session_heap` | `SessionHeap`: several threads, a session each |
// | `mutation` | `Mutation`: allocating |
// | `gc` | `Gc` |
// | `gc_cell` | `GcCell` |
// | `gc_vec`, `gc_map`, `gc_string` | `GcVec`, `GcMap`, `GcString` |
// | `weak` | `Weak` |
// | `fixed` | `Static`: values of other types |
// | `owned` | `Owned`: values that are dropped when their objects are dead |
// | `stash` | `Stashed`: a root outside |
// | `fuel` | `Fuel`, and `Session::run` |

mod calls;
mod fixed;
mod fuel;
mod gc;
mod gc_cell;
mod gc_map;
mod gc_string;
mod gc_vec;
mod mutation;
mod owned;
mod part;
mod rootable;
mod seat;
mod session_heap;
mod stash;
mod weak;

pub use calls::Session;
pub use fixed::Static;
pub use fuel::Fuel;
pub use gc::Gc;
pub use gc_cell::GcCell;
pub use gc_map::GcMap;
pub use gc_string::GcString;
pub use gc_vec::GcVec;
pub use mutation::Mutation;
pub use owned::Owned;
#[doc(hidden)]
pub use rootable::ByName;
pub use rootable::{RootOf, Rootable};
pub use session_heap::SessionHeap;
pub use stash::Stashed;
pub use weak::Weak;
