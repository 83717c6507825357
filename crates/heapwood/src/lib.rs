//! To come.

pub mod gc;
pub mod trace;

#[doc(hidden)]
pub use crate::trace::__private;
pub use gc::Gc;
pub use heapwood_derive::{NoPointers, Trace};
pub use trace::{NoPointers, Trace, TypeMap};
