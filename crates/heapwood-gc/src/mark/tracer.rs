//! What a type's own trace function sees of the marker.
//! Invariant: it exists while its function runs, and what it is told is an edge of that object.

use super::queue::Marker;
use heapwood_layout::TraceContext;

/// Reports the pointers of one object to the collector.
pub struct Tracer<'a>(&'a mut Marker<'a>);

impl<'a> Tracer<'a> {
    /// The tracer behind the context that a trace function was given.
    ///
    /// # Safety
    /// 1. `context` is the argument of a trace function that is running, and is used through this tracer alone.
    pub unsafe fn from_context(context: *mut TraceContext) -> Self {
        // SAFETY: the context is the marker that called the trace function (contract 1), whose lifetime covers the
        // call; the marker is not used otherwise while the function runs.
        Tracer(unsafe { &mut *context.cast::<Marker<'a>>() })
    }

    /// The object at `addr` is referred to. Null and addresses outside the heap are ignored.
    ///
    /// # Safety
    /// 1. Inside the heap, `addr` is the first byte of an object that exists.
    #[inline]
    pub unsafe fn visit(&mut self, addr: usize) {
        self.0.push(addr);
    }

    /// `word` may point to or into an object.
    #[inline]
    pub fn visit_ambiguous(&mut self, word: usize) {
        if let Some(object) = self.0.resolve(word) {
            self.0.push(object);
        }
    }
}
