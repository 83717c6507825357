//! Collections whose memory is in the heap, as values of objects. They change through shared references, with access to the heap, as
//! a [`GcCell`](crate::GcCell) does, and are for one thread.
//!
//! | module | content |
//! |---|---|
//! | `vec` | [`GcVec`]: elements that grow |
//! | `map` | [`GcMap`]: values by keys |
//! | `string` | [`GcString`]: text that grows |

mod map;
mod string;
mod vec;

pub use map::GcMap;
pub use string::GcString;
pub use vec::GcVec;
