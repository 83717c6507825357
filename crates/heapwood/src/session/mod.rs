//! A heap without `unsafe`: all access is inside [`Session::mutate`], in which nothing is collected, and nothing but the root
//! outlives it. The shape is gc-arena's. Invariant: while a `'gc` exists, its heap makes no pause: allocation defers what is due, and
//! only this thread makes pauses.
//!
//! ```
//! # #![forbid(unsafe_code)]
//! use heapwood::session::{Gc, Mutation, Rootable, Session};
//! use heapwood::{Config, GcCell, Trace};
//! use std::collections::HashMap;
//!
//! #[derive(Trace)]
//! struct Node<'gc> {
//!     key: u64,
//!     next: Option<Gc<'gc, Node<'gc>>>,
//! }
//!
//! /// What is kept from one call to the next.
//! #[derive(Trace, Rootable)]
//! struct Root<'gc> {
//!     list: GcCell<Option<Gc<'gc, Node<'gc>>>>,
//! }
//!
//! fn push<'gc>(m: &Mutation<'gc>, root: &Root<'gc>, key: u64) {
//!     root.list.set(m, Some(m.alloc(Node { key, next: root.list.get() })));
//! }
//!
//! let mut session = Session::<Root>::new(Config::default(), |_| Root { list: GcCell::new(None) })?;
//! session.mutate(|m, root| (0..1000).for_each(|key| push(m, root, key)));
//! // Inside, pointers may be anywhere: in a Vec, a HashMap, a closure.
//! let found = session.mutate(|_, root| {
//!     let nodes = std::iter::successors(root.list.get(), |node| node.next);
//!     let by_key: HashMap<u64, Gc<Node>> = nodes.map(|node| (node.key, node)).collect();
//!     by_key[&7].next.unwrap().key
//! });
//! assert_eq!(found, 6);
//! # Ok::<(), heapwood::HeapError>(())
//! ```
//!
//! No pointer leaves the closure:
//!
//! ```compile_fail
//! # use heapwood::{Config, GcCell, Trace, session::{Gc, Rootable, Session}};
//! # #[derive(Trace, Rootable)]
//! # struct Root<'gc>(Gc<'gc, u64>);
//! let mut session = Session::<Root>::new(Config::default(), |m| Root(m.alloc(7)))?;
//! let escaped = session.mutate(|_, root| root.0);
//! # Ok::<(), heapwood::HeapError>(())
//! ```

mod mutation;

#[doc(inline)]
pub use crate::collections::{GcMap, GcString, GcVec};
#[doc(inline)]
pub use crate::gc::Gc;
#[doc(inline)]
pub use crate::weak::{Ephemeron, Weak};
#[doc(inline)]
pub use crate::weak_map::{WeakMap, WeakSet};
pub use heapwood_derive::Rootable;
pub use mutation::Mutation;

use crate::access::mutator;
use crate::attach::Attached;
use crate::heap::Heap;
use crate::mutator::{ForOneThread, Hidden};
use crate::root::Root;
use crate::trace::Trace;
use core::marker::PhantomData;
use core::ptr::NonNull;
use heapwood_gc::settings::options::Stop;
use heapwood_gc::{ClientRoots, CollectionPhases, Config, HeapError, StackGiven, Stats};

/// The type of a session's root, for each lifetime. `#[derive(Rootable)]` writes it for a type with one lifetime parameter:
/// `impl Rootable for Root<'static> { type At<'gc> = Root<'gc>; }`.
pub trait Rootable: 'static {
    /// The root as one call of [`Session::mutate`] sees it.
    type At<'gc>: Trace;
}

/// A heap with one root, for one thread. See the [module](self).
///
/// It collects between calls, when that is due: in [`mutate`](Session::mutate), after the closure. Full markings go on
/// beside the program as in other heaps; they start and end in those places.
pub struct Session<R: Rootable> {
    root: Hidden<Root<R::At<'static>>>,
    // Dropped after the root.
    attached: Hidden<Attached>,
    _one_thread: PhantomData<*const ForOneThread>,
}

/// Stacks are not scanned, so it does not matter on which one the thread waits.
const ANY_STACK: StackGiven = StackGiven::Bounds(0, usize::MAX & !(size_of::<usize>() - 1));

/// A part in each collection that does nothing but to keep it on the program's threads.
struct OnItsOwnThread;

// SAFETY: it names no roots.
unsafe impl CollectionPhases for OnItsOwnThread {
    fn roots(&self, _: &mut ClientRoots<'_>) {}
}

/// Defers collections no longer, also after a panic. What is due then comes after the next call.
struct Deferred<'m>(&'m Attached);

impl Drop for Deferred<'_> {
    fn drop(&mut self) {
        self.0.raw().defer_no_longer();
    }
}

/// Calls `f` while collections are deferred, and makes what has come due.
fn deferred<T>(attached: &Attached, f: impl for<'gc> FnOnce(&'gc Mutation<'gc>) -> T) -> T {
    attached.raw().defer_collections();
    let guard = Deferred(attached);
    // SAFETY: `'gc` ends with `f`, which cannot name it in its result, and is a new lifetime to it. Meanwhile this thread collects
    // nothing, and no other makes a pause in a session's heap.
    let result = f(unsafe { Mutation::branded(attached) });
    if let Err(misuse) = guard.0.raw().resume_collections() {
        panic!("{misuse}");
    }
    result
}

/// A root with this value.
fn rooted<'gc, R: Rootable>(m: &Mutation<'gc>, value: R::At<'gc>) -> Root<R::At<'static>> {
    let object = m.alloc(value);
    let m = mutator(m);
    // SAFETY: the object is alive. Its type with another lifetime has the same layout, and a root's pointer is read in
    // `root_of` alone.
    m.root(unsafe { crate::unbranded::Gc::from_raw(NonNull::new_unchecked(Gc::as_ptr(object).cast())) })
}

/// The root's object, as one call sees it.
fn root_of<'gc, R: Rootable>(m: &'gc Mutation<'gc>, root: &Root<R::At<'static>>) -> &'gc R::At<'gc> {
    // SAFETY: the root was made by `rooted` of an object of this type but for the lifetime, and keeps it alive; no root is replaced before
    // `'gc` ends.
    unsafe { &*Gc::as_ptr(root.get(mutator(m))).cast() }
}

impl<R: Rootable> Session<R> {
    /// Makes a heap, with the root that `root` returns.
    ///
    /// Stacks are not scanned, and threads not stopped by signals: [`Config::conservative_stacks`] and [`Config::stop`] have no
    /// effect here.
    ///
    /// # Errors
    /// A setting that is out of range, or no memory for the heap's tables.
    pub fn new(
        config: Config,
        root: impl for<'gc> FnOnce(&'gc Mutation<'gc>) -> R::At<'gc>,
    ) -> Result<Self, HeapError> {
        let heap = Heap::create(config.conservative_stacks(false).stop(Stop::Polls))?;
        let attached = Attached::new(heap.inner.clone(), ANY_STACK)?;
        heap.inner.heap.set_phases(Some(&OnItsOwnThread)).expect("the thread is attached and uses no heap");
        let root = deferred(&attached, |m| rooted::<R>(m, root(m)));
        Ok(Session { root: Hidden(root), attached: Hidden(attached), _one_thread: PhantomData })
    }

    /// Calls `f` with access to the heap, and with the root. Nothing is collected in it, and afterwards what has come due.
    #[inline]
    pub fn mutate<T>(&mut self, f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc R::At<'gc>) -> T) -> T {
        deferred(&self.attached.0, |m| f(m, root_of::<R>(m, &self.root.0)))
    }

    /// Replaces the root by what `f` returns.
    pub fn replace_root(
        &mut self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc R::At<'gc>) -> R::At<'gc>,
    ) {
        self.root.0 = self.mutate(|m, root| rooted::<R>(m, f(m, root)));
    }

    /// Collects everything that the root does not lead to, now, in a stop.
    pub fn collect(&mut self) {
        self.attached.0.collect();
    }

    /// The heap's statistics.
    pub fn stats(&self) -> Stats {
        self.attached.0.heap().stats()
    }
}
