//! A session: a heap, or a part in one, whose objects are seen during calls alone. Invariant: each call sees them with a lifetime of
//! its own; a root that it leaves behind is whole, also if it panics.

use super::mutation::Mutation;
use super::part::Part;
use super::rootable::{RootOf, Rootable};
use super::seat::{Visit, new_heap};
use crate::error::Error;
use crate::root::Root;
use crate::trace::Trace;
use core::fmt;
use heapwood_gc::{Config, Stats};
use heapwood_heap::Collection;

/// A heap, or a part in one, that is used by safe code, inside [`Session::mutate`].
///
/// It stays with its thread:
///
/// ```compile_fail,E0277
/// fn send<T: Send>() {}
/// send::<heapwood::session::Session<heapwood::Rootable![u64]>>();
/// ```
pub struct Session<R: for<'a> Rootable<'a, Root: Trace>> {
    // Dropped in this order: the thread leaves the heap last, and what the root has kept is dead then.
    root: Root<RootOf<'static, R>>,
    part: Part,
}

impl<R: for<'a> Rootable<'a, Root: Trace>> Session<R> {
    /// Makes a heap, and in it the root that `root` returns. The heap is this session's alone: its values that are
    /// [owned](Mutation::alloc_owned) are dropped with it.
    ///
    /// The heap stops threads by polls, scans no stacks and looks for no roots in libraries, whatever `config` says.
    ///
    /// # Errors
    /// As [`Heap::new`](crate::Heap::new); or the root does not fit under the heap's limit.
    pub fn new(
        config: Config,
        root: impl for<'gc> FnOnce(&'gc Mutation<'gc>) -> RootOf<'gc, R>,
    ) -> Result<Self, Error> {
        Self::try_new(config, |m| Ok(root(m)))
    }

    /// The same with a function that may fail.
    ///
    /// # Errors
    /// As [`Session::new`], and what `root` returns.
    pub fn try_new<E: From<Error>>(
        config: Config,
        root: impl for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<RootOf<'gc, R>, E>,
    ) -> Result<Self, E> {
        let heap = new_heap(config).map_err(Error::from)?;
        Self::begin(Part::new(&heap, true).map_err(Error::from)?, root)
    }

    pub(super) fn begin<E: From<Error>>(
        part: Part,
        root: impl for<'gc> FnOnce(&'gc Mutation<'gc>) -> Result<RootOf<'gc, R>, E>,
    ) -> Result<Self, E> {
        let made = {
            let visit = part.enter();
            root(visit.mutation()).and_then(|root| {
                let object = visit.mutator().try_alloc(root).map_err(Error::from)?;
                visit.mutator().try_root(object).map_err(Error::from).map_err(E::from)
            })
        };
        let root = made?;
        let mut session = Session { root, part };
        session.collect_if_due();
        Ok(session)
    }

    /// Calls `f` with the session's mutation and its root. Nothing is collected meanwhile. Afterwards, if it is due, something is, and
    /// [owned](Mutation::alloc_owned) values of dead objects are dropped.
    ///
    /// No pointer leaves the call:
    ///
    /// ```compile_fail
    /// # use heapwood::{Config, Rootable, session::Session};
    /// # let mut session = Session::<Rootable![u64]>::new(Config::default(), |_| 0).unwrap();
    /// let escaped = session.mutate(|m, _| m.alloc(7u64));
    /// ```
    ///
    /// nor does a call begin inside another of the same session:
    ///
    /// ```compile_fail,E0499
    /// # use heapwood::{Config, Rootable, session::Session};
    /// # let mut session = Session::<Rootable![u64]>::new(Config::default(), |_| 0).unwrap();
    /// session.mutate(|_, _| session.mutate(|_, _| ()));
    /// ```
    ///
    /// Calls of several sessions nest. Where their heaps are shared with other threads they nest like locks: two threads that do it in
    /// opposite order may wait for each other for good.
    #[inline]
    pub fn mutate<O>(&mut self, f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc RootOf<'gc, R>) -> O) -> O {
        let out = {
            let visit = self.part.enter();
            f(visit.mutation(), self.root(&visit))
        };
        self.collect_if_due();
        out
    }

    /// The same with a root that `f` may change as a whole. It costs a copy of the root.
    ///
    /// # Panics
    /// If the copy does not fit under the heap's limit; `f` was not called.
    pub fn mutate_root<O>(
        &mut self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, &'gc mut RootOf<'gc, R>) -> O,
    ) -> O {
        let out = {
            let visit = self.part.enter();
            // A new object needs no barrier until the next pause, and no other pointer leads to it. (What the old root refers to was
            // there when a marking began that goes on.)
            // SAFETY: the old root is not used any more; it needs no drop.
            let root = visit.mutator().alloc(unsafe { core::ptr::read(self.root(&visit)) });
            self.root = visit.mutator().root(root);
            // SAFETY: an object that the root keeps; only `f` has a reference to it, until it returns.
            f(visit.mutation(), unsafe { &mut *crate::Gc::as_ptr(root) })
        };
        self.collect_if_due();
        out
    }

    /// Replaces the root by one of another type.
    ///
    /// # Panics
    /// If the new root does not fit under the heap's limit.
    pub fn map_root<R2: for<'a> Rootable<'a, Root: Trace>>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, RootOf<'gc, R>) -> RootOf<'gc, R2>,
    ) -> Session<R2> {
        match self.try_map_root(|m, root| Ok(f(m, root))) {
            Ok(session) => session,
            Err::<_, Error>(error) => panic!("{error}"),
        }
    }

    /// The same with a function that may fail; then the session ends.
    ///
    /// # Errors
    /// What `f` returns; or the new root does not fit under the heap's limit.
    pub fn try_map_root<R2: for<'a> Rootable<'a, Root: Trace>, E: From<Error>>(
        self,
        f: impl for<'gc> FnOnce(&'gc Mutation<'gc>, RootOf<'gc, R>) -> Result<RootOf<'gc, R2>, E>,
    ) -> Result<Session<R2>, E> {
        let made = {
            let visit = self.part.enter();
            // SAFETY: the old root is not used any more; it needs no drop.
            let root = unsafe { core::ptr::read(self.root(&visit)) };
            f(visit.mutation(), root).and_then(|root| {
                let object = visit.mutator().try_alloc(root).map_err(Error::from)?;
                visit.mutator().try_root(object).map_err(Error::from).map_err(E::from)
            })
        };
        let part = self.part;
        let mut session = Session { root: made?, part };
        session.collect_if_due();
        Ok(session)
    }

    /// The root, during a visit.
    #[inline]
    fn root(&self, visit: &Visit<'_>) -> &'static RootOf<'static, R> {
        // SAFETY: the handle keeps it alive during the visit, and nothing changes it as a whole. The lifetime ends with the visit: it
        // is given to functions alone that take any.
        unsafe { &*crate::Gc::as_ptr(self.root.get(visit.mutator())) }
    }

    /// Collects, if the session owes a collection, or one is due in its heap; whether it has. [`Session::mutate`] does this at its end.
    #[inline]
    pub fn collect_if_due(&mut self) -> bool {
        self.part.collect_owed()
    }

    /// Collects everything that the root does not lead to, now.
    pub fn collect(&mut self) {
        self.part.collect(Collection::Full);
    }

    /// The same of the young objects alone, if the heap has young collections now.
    pub fn collect_young(&mut self) {
        self.part.collect(Collection::Young);
    }

    /// The bytes that were allocated since a collection was due.
    pub fn debt(&self) -> usize {
        self.part.heap().debt()
    }

    /// The statistics of its heap.
    pub fn stats(&self) -> Stats {
        self.part.heap().inspect().stats()
    }
}

impl<R: for<'a> Rootable<'a, Root: Trace>> fmt::Debug for Session<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
