//! A trace function as a shape has it. Invariant: the word goes with the function that was registered with it.

use heapwood_layout::{TraceContext, TraceFn, TraceWithFn};

/// A trace function, with its word if it takes one.
#[derive(Clone, Copy, Debug)]
pub enum TraceCall {
    /// It knows its type.
    Alone(TraceFn),
    /// It serves many types.
    With(TraceWithFn, usize),
}

impl TraceCall {
    /// Calls it for an object.
    ///
    /// # Safety
    /// 1. The object exists, has `size` bytes, and is of the function's type, with this word.
    /// 2. `tracer` comes from the collector, for this call.
    #[inline]
    pub unsafe fn call(self, object: *mut u8, size: usize, tracer: *mut TraceContext) {
        // SAFETY: contracts 1 and 2.
        unsafe {
            match self {
                TraceCall::Alone(function) => function(object, size, tracer),
                TraceCall::With(function, data) => function(object, size, tracer, data),
            }
        }
    }

    /// The function, if it takes a word.
    pub fn with_word(self) -> Option<TraceWithFn> {
        match self {
            TraceCall::Alone(_) => None,
            TraceCall::With(function, _) => Some(function),
        }
    }
}
