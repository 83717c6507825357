//! What a type's own trace function sees of the marker, or of the write barrier.
//! Invariant: it exists while its function runs, and what it is told is an edge of that object.

use super::mode::{Alone, Mode, ModeName, Together, Young};
#[cfg(feature = "stepped")]
use super::mode::{Beside, Stepped};
use super::queue::Marker;
use super::shading::Shading;
use core::marker::PhantomData;
use heapwood_heap::ObjectRef;
use heapwood_layout::{TraceContext, TraceFn};

/// The marker that calls a trace function, for the length of the call. Its mode is told apart here.
pub(super) struct Target<'a> {
    mode: ModeName,
    marker: *mut (),
    borrow: PhantomData<&'a mut ()>,
}

impl<'a> Target<'a> {
    pub(super) fn of<'h, M: Mode>(marker: &'a mut Marker<'h, M>) -> Self {
        Target { mode: M::NAME, marker: (&raw mut *marker).cast(), borrow: PhantomData }
    }

    /// A mutator calls the function, for the write barrier.
    pub(super) fn of_shading(shading: &'a mut Shading<'_>) -> Self {
        Target { mode: ModeName::Barrier, marker: (&raw mut *shading).cast(), borrow: PhantomData }
    }

    #[inline(always)]
    fn visit(&mut self, addr: usize) {
        // SAFETY: the pointer came from a borrow of a marker of this mode that lasts as long as this.
        unsafe {
            match self.mode {
                ModeName::Alone => (*self.marker.cast::<Marker<'a, Alone>>()).push(addr),
                ModeName::Young => (*self.marker.cast::<Marker<'a, Young>>()).push(addr),
                ModeName::Together => (*self.marker.cast::<Marker<'a, Together<'a>>>()).push(addr),
                #[cfg(feature = "stepped")]
                ModeName::Stepped => (*self.marker.cast::<Marker<'a, Stepped>>()).push(addr),
                #[cfg(feature = "stepped")]
                ModeName::Beside => (*self.marker.cast::<Marker<'a, Beside<'a>>>()).push(addr),
                ModeName::Barrier => (*self.marker.cast::<Shading<'a>>()).object(addr),
            }
        }
    }

    #[inline(always)]
    fn resolve(&self, word: usize) -> Option<usize> {
        // SAFETY: as above.
        unsafe {
            match self.mode {
                ModeName::Alone => (*self.marker.cast::<Marker<'a, Alone>>()).resolve(word),
                ModeName::Young => (*self.marker.cast::<Marker<'a, Young>>()).resolve(word),
                ModeName::Together => (*self.marker.cast::<Marker<'a, Together<'a>>>()).resolve(word),
                #[cfg(feature = "stepped")]
                ModeName::Stepped => (*self.marker.cast::<Marker<'a, Stepped>>()).resolve(word),
                #[cfg(feature = "stepped")]
                ModeName::Beside => (*self.marker.cast::<Marker<'a, Beside<'a>>>()).resolve(word),
                ModeName::Barrier => (*self.marker.cast::<Shading<'a>>()).resolve(word),
            }
        }
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
        // SAFETY: the context is what the marker made that called the trace function (contract 1), whose lifetime covers the
        // call; the marker is not used otherwise while the function runs.
        Tracer(unsafe { &mut *context.cast::<Target<'a>>() })
    }

    /// The object at `addr` is referred to. Null and addresses outside the heap are ignored.
    ///
    /// # Safety
    /// 1. Inside the heap, `addr` is the first byte of an object that exists.
    #[inline]
    pub unsafe fn visit(&mut self, addr: usize) {
        self.0.visit(addr);
    }

    /// `word` may point to or into an object.
    #[inline]
    pub fn visit_ambiguous(&mut self, word: usize) {
        if let Some(object) = self.0.resolve(word) {
            self.0.visit(object);
        }
    }
}

impl Shading<'_> {
    /// Shades all that an object refers to, by its trace function.
    ///
    /// # Safety
    /// 1. The object exists, has so many bytes, and is of the function's type.
    pub(crate) unsafe fn all_of(&mut self, object: ObjectRef, bytes: usize, trace: TraceFn) {
        let state = self.state();
        let _turn = state.marking_log().turn();
        state.while_marking(|| {
            let mut target = Target::of_shading(self);
            let context = (&raw mut target).cast::<TraceContext>();
            // SAFETY: contract 1; the function reports to the context it is given.
            unsafe { trace(object.get() as *mut u8, bytes, context) };
        });
    }
}
