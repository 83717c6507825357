//! Mark and allocation state. Three placements behind one interface, for the measurements of docs/METADATA.md.
#[cfg(not(any(feature = "marks-bytes", feature = "marks-in-span")))]
mod side;
#[cfg(not(any(feature = "marks-bytes", feature = "marks-in-span")))]
pub use side::{Marker, Marks};
#[cfg(feature = "marks-bytes")]
mod bytes;
#[cfg(feature = "marks-bytes")]
pub use bytes::{Marker, Marks};
#[cfg(feature = "marks-in-span")]
mod in_span;
#[cfg(feature = "marks-in-span")]
pub use in_span::{Marker, Marks};
