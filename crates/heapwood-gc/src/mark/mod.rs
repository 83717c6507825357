//! Marking: finds every object that the roots reach, at the price of one expected cache miss for each object, which a
//! prefetch hides. Invariant: the files up to `tracer` are one marker and share its fields; the caller sees its
//! arguments and its totals.
//!
//! | file | contents |
//! |---|---|
//! | `queue` | the marking loop: a bounded stack of edges feeds a ring of edges, which feeds a ring of objects |
//! | `ring` | the rings: edges and objects that wait for their memory, oldest first |
//! | `scan` | the edges of an object, by scan kind |
//! | `ephemerons` | ephemerons, and the fixed point of those whose keys are reached |
//! | `undecided` | those that a marker has listed |
//! | `programs` | the edges of an object whose type a program describes |
//! | `edge` | an edge: an object's address, or an ambiguous word |
//! | `ambiguous` | words that may or may not be pointers |
//! | `candidates` | those of them that lie in the heap's range |
//! | `stack` | the bounded stacks |
//! | `overflow` | a push onto a full stack |
//! | `tracer` | the interface that a type's trace function sees |
//! | `put_off` | calls that such a function has put off |
//! | `procedure` | the stack of a mark procedure, in libgc's convention |
//! | `shading` | the write barrier's part of a concurrent marking |
//! | `session` | a concurrent marking, driven in steps |
//! | `roots` | the roots, as a marker takes them |
//! | `mode` | the mode: who marks, what, until when; the loop is compiled for each |
//! | `revive` | what finalisers revive after a marking |
//! | `bits` | setting marks, from one thread or several |
//! | `marker_pool` | several markers: handing over blocks of edges, and termination |
//! | `blocks` | the blocks of edges |
//! | `work_sharing` | when a marker hands edges over, and how it receives some |
//! | `workers` | the helper threads |
//! | `marking` | the markings of a heap, and whether helpers take part |

mod ambiguous;
mod bits;
mod blocks;
mod candidates;
mod edge;
mod ephemerons;
mod marker_pool;
mod marking;
mod mode;
mod overflow;
mod procedure;
mod programs;
mod put_off;
mod queue;
mod revive;
mod ring;
mod roots;
mod scan;
mod session;
mod shading;
mod stack;
mod tracer;
mod undecided;
mod work_sharing;
mod workers;

pub(crate) use marking::Marking;
pub use procedure::{MarkEntry, ProcedureStack};
pub(crate) use queue::MarkTotals;
pub(crate) use revive::Revived;
pub(crate) use session::MarkSession;
pub(crate) use shading::{ShadeLog, Shading};
pub use tracer::Tracer;
pub(crate) use tracer::report_edges;
