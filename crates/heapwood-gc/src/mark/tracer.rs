//! The interface that a type's trace function has to the marker, to the write barrier, or to verify mode. Invariant: it
//! exists while the function runs, and every word reported to it is an edge of that object.

use super::mode::Mode;
use super::queue::Marker;
use super::shading::{ShadeLog, Shading};
use core::marker::PhantomData;
use heapwood_heap::ObjectRef;
use heapwood_layout::{TraceContext, TraceFn};

/// Who calls a trace function, for the length of the call.
pub(super) struct Target<'a> {
    target: *mut (),
    visit: unsafe fn(*mut (), usize),
    resolve: unsafe fn(*mut (), usize) -> Option<usize>,
    borrow: PhantomData<&'a mut ()>,
}

/// The receiver of a trace function's reports.
trait Visit {
    fn visit(&mut self, addr: usize);
    fn resolve(&self, word: usize) -> Option<usize>;
}

impl<M: Mode> Visit for Marker<'_, M> {
    fn visit(&mut self, addr: usize) {
        self.push(addr);
    }

    fn resolve(&self, word: usize) -> Option<usize> {
        Marker::resolve(self, word)
    }
}

impl<L: ShadeLog> Visit for Shading<'_, L> {
    fn visit(&mut self, addr: usize) {
        self.object(addr);
    }

    fn resolve(&self, word: usize) -> Option<usize> {
        Shading::resolve(self, word)
    }
}

/// Somebody who marks nothing: verify mode.
struct Looker<'a> {
    visit: &'a mut dyn FnMut(usize),
    resolve: &'a dyn Fn(usize) -> Option<usize>,
}

impl Visit for Looker<'_> {
    fn visit(&mut self, addr: usize) {
        (self.visit)(addr);
    }

    fn resolve(&self, word: usize) -> Option<usize> {
        (self.resolve)(word)
    }
}

/// Calls `visit` with each address that an object's trace function reports, and with the object of each ambiguous word that
/// `resolve` knows.
///
/// # Safety
/// 1. The object exists, has `bytes` bytes, and is of the function's type; the heap is stopped.
pub(crate) unsafe fn report_edges(
    object: usize,
    bytes: usize,
    trace: TraceFn,
    visit: &mut dyn FnMut(usize),
    resolve: &dyn Fn(usize) -> Option<usize>,
) {
    let mut looker = Looker { visit, resolve };
    let mut target = Target::new(&mut looker);
    let context = (&raw mut target).cast::<TraceContext>();
    // SAFETY: contract 1; the function reports to the context it is given.
    unsafe { trace(object as *mut u8, bytes, context) };
}

/// # Safety
/// 1. `target` leads to a `T` that is borrowed for this call alone.
unsafe fn visit<T: Visit>(target: *mut (), addr: usize) {
    // SAFETY: contract 1.
    unsafe { &mut *target.cast::<T>() }.visit(addr);
}

/// # Safety
/// 1. As for [`visit`].
unsafe fn resolve<T: Visit>(target: *mut (), word: usize) -> Option<usize> {
    // SAFETY: contract 1.
    unsafe { &*target.cast::<T>() }.resolve(word)
}

impl<'a> Target<'a> {
    /// For a call by a marker.
    pub(super) fn of<'h, M: Mode>(marker: &'a mut Marker<'h, M>) -> Self {
        Self::new(marker)
    }

    /// For a call by a mutator's write barrier.
    pub(super) fn of_shading<L: ShadeLog>(shading: &'a mut Shading<'_, L>) -> Self {
        Self::new(shading)
    }

    fn new<T: Visit>(target: &'a mut T) -> Self {
        Target {
            target: (&raw mut *target).cast(),
            visit: visit::<T>,
            resolve: resolve::<T>,
            borrow: PhantomData,
        }
    }

    #[inline(always)]
    fn visit(&mut self, addr: usize) {
        // SAFETY: the target is borrowed for the lifetime of `self`, and the function is the one for its type.
        unsafe { (self.visit)(self.target, addr) };
    }

    #[inline(always)]
    fn resolve(&self, word: usize) -> Option<usize> {
        // SAFETY: as above.
        unsafe { (self.resolve)(self.target, word) }
    }
}

/// Reports the pointers of one object to the collector.
pub struct Tracer<'a>(&'a mut Target<'a>);

impl<'a> Tracer<'a> {
    /// The tracer behind the context that a trace function was given.
    ///
    /// # Safety
    /// 1. `context` is the argument of a trace function that is running, and is used through this tracer alone.
    pub unsafe fn from_context(context: *mut TraceContext) -> Self {
        // SAFETY: the caller of the trace function made the context (contract 1), and its lifetime covers the call.
        // Nothing else uses the marker while the function runs.
        Tracer(unsafe { &mut *context.cast::<Target<'a>>() })
    }

    /// Reports that the object refers to the object at `addr`. Null and addresses outside the heap are ignored.
    ///
    /// # Safety
    /// 1. Inside the heap, `addr` is the first byte of an object that exists.
    #[inline]
    pub unsafe fn visit(&mut self, addr: usize) {
        self.0.visit(addr);
    }

    /// Reports a word that may point to or into an object.
    #[inline]
    pub fn visit_ambiguous(&mut self, word: usize) {
        if let Some(object) = self.0.resolve(word) {
            self.0.visit(object);
        }
    }
}

impl<L: ShadeLog> Shading<'_, L> {
    /// Shades all objects that an object refers to, by its trace function.
    ///
    /// # Safety
    /// 1. The object exists, has `bytes` bytes, and is of the function's type.
    pub(crate) unsafe fn all_of(&mut self, object: ObjectRef, bytes: usize, trace: TraceFn) {
        let state = self.state();
        let _turn = state.marking_log().turn();
        state.marking_threads().while_marking(|| {
            let mut target = Target::of_shading(self);
            let context = (&raw mut target).cast::<TraceContext>();
            // SAFETY: contract 1; the function reports to the context it is given.
            unsafe { trace(object.get() as *mut u8, bytes, context) };
        });
    }
}
