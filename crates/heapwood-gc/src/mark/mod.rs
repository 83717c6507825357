//! Marking: from the roots to everything that can be reached, with one expected cache miss an object, hidden. Invariant: the
//! files up to `tracer` are one marker, whose fields they share; who marks sees what went in and what was found.
//!
//! | file | what it holds |
//! |---|---|
//! | `queue` | the marking loop: a bounded stack of edges feeds a ring of edges, and that a ring of objects |
//! | `ring` | what waits for its memory, oldest out first |
//! | `scan` | finding the edges of an object, by scan kind |
//! | `programs` | the same for types that a program describes |
//! | `ambiguous` | words that may or may not be pointers |
//! | `stack` | the bounded stacks |
//! | `overflow` | what happens when they are full |
//! | `flagged` | which spans have to be scanned again then |
//! | `tracer` | what a type's own trace function sees |
//! | `shading` | what the write barrier tells a marking that goes on while mutators run |
//! | `stepped` | such a marking in small steps, for tests (feature `stepped`) |
//! | `roots` | what roots are to a marker |
//! | `mode` | alone or together: what the loop is compiled for |
//! | `bits` | how marks are set, by one thread or several |
//! | `crew` | how several hand edges over and learn of the end |
//! | `blocks` | what is handed over |
//! | `share` | what a marker gives, and receives |
//! | `workers` | the threads that help |
//! | `marking` | whether they do |

mod ambiguous;
mod bits;
mod blocks;
mod crew;
mod flagged;
mod marking;
mod mode;
mod overflow;
mod programs;
mod queue;
mod ring;
mod roots;
mod scan;
mod shading;
mod share;
mod stack;
#[cfg(feature = "stepped")]
mod stepped;
mod tracer;
mod workers;

pub(crate) use marking::Marking;
pub(crate) use queue::Marked;
pub(crate) use roots::ScanRoots;
pub(crate) use shading::Shading;
#[cfg(feature = "stepped")]
pub(crate) use stepped::SteppedMarking;
pub use tracer::Tracer;
