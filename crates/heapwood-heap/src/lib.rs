//! The non-moving heap under Heapwood: size classes, spans, allocation, sweeping. It is for implementers of collectors
//! and of interfaces on top; programs use `heapwood` or `heapwood-c`.
//!
//! A [`Space`] is one heap's memory. It knows which cells exist and how they are scanned, but nothing of roots, threads
//! or the time to collect. A mutator allocates from its allocation buffers ([`AllocBuffer`]); when a run is used up,
//! its [`Owner`] token gives the right to refill. A collector stops the world, which a [`Stopped`] token attests, marks
//! through [`Stopped::mark_side`] and ends with [`Stopped::end_marking`].
//!
//! Layers from the top: each uses those below it, and is seen by none of them. A [`Space`] has the sweeper and the shapes, the
//! sweeper has the page heap, that the tables of marks and spans; each is named where it is used.
//!
//! | module | contents |
//! |---|---|
//! | `stopped` | a stopped space: marking, checks |
//! | `objects` | walks over its objects, and over what has just died |
//! | `check` | the recomputation of invariants; snapshots of the pages; where the memory is |
//! | `alloc` | mutators: allocation buffers, the slow path, large objects |
//! | `arenas` | memory for objects that die together |
//! | `space` | what all of a heap's mutators share |
//! | `reclaim` | shared state of mutators: span lists, the budget, sweeping |
//! | `pages` | the pages of spans: the reservation, growth, the limit, release |
//! | `marks`, `freed`, `held` | mark and allocation bits; cells that the program freed itself; objects that it holds |
//! | `spans` | from an address to its span |
//! | `policy` | decisions about shares, refills, sweeping and growth, with their constants |
//! | `layout` | from a type to a shape, and the record of an object |
//! | `young_pages_view` | the queries of a write barrier |
//! | `address`, `granule`, `config`, `error` | the vocabulary of all of these |
//! | [`publication`] | the memory order of new objects |
//! | [`cpu`], [`prefetch`] | the processor's features; hints |

pub mod cpu;
pub mod prefetch;
pub mod publication;

mod address;
mod alloc;
mod arenas;
mod check;
mod config;
mod error;
mod freed;
mod granule;
mod held;
mod layout;
pub mod lock_order;
mod marking_view;
mod marks;
#[cfg(all(test, loom))]
mod model;
mod objects;
mod pages;
mod policy;
mod reclaim;
mod space;
mod spans;
mod stopped;
mod young_pages_view;

pub use address::{Address, ObjectRef};
pub use alloc::alloc_buffer::AllocBuffer;
pub use alloc::find::ObjectInfo;
pub use alloc::large::LargePages;
pub use alloc::owner::Owner;
pub use alloc::thread_cache::ThreadCache;
pub use arenas::chunk::MOST_IN_ARENA;
pub use arenas::chunk_pool::ArenaBytes;
pub use arenas::find::{ArenaPlace, MarkedArenaChunk};
pub use arenas::header::{ArenaHeader, ArenaKind};
pub use arenas::layout::ArenaLayout;
pub use arenas::protected::ProtectedChunks;
pub use arenas::state::ArenaState;
pub use arenas::visit::ArenaWords;
pub use check::parts::{CLASS_PARTS, ClassParts, SpaceParts};
pub use config::{CLOBBER, MAX_RESERVATION, MIN_RESERVATION, SpaceConfig, rounded_reservation};
pub use error::{NoRoom, Refusal, SpaceError, ValidationError};
pub use granule::GRANULE;
pub use layout::pointer_bits::PointerBits;
pub use layout::program_id::{MOST_NODES, MOST_UNROLLED, ProgramId};
pub use layout::shape::{MAX_ELEMENT_WORDS, Scan, ScanKind, Shape};
pub use layout::shape_id::{MAX_OWN_SHAPES, MAX_SHAPES, ShapeId};
pub use layout::shapes::Shapes;
pub use layout::size_class::{MAX_SMALL, MAX_TABLED, SizeClass};
pub use layout::trace_call::TraceCall;
pub use marking_view::MarkingView;
pub use marks::{Collection, MarkSide};
pub use pages::external::{External, ExternalChange};
pub use pages::page_heap::Object;
pub use reclaim::clock::{ReclaimClock, ReclaimTimes, Sweeping};
pub use space::Space;
pub use space::arenas::Arenas;
pub use space::memory::PageMemory;
pub use space::stats::SpaceStats;
pub use space::tables::SpaceTable;
pub use spans::page_table::PageEntry;
pub use spans::span::{Cells, Span};
pub use stopped::{AllocatedInCycle, Stopped};
pub use young_pages_view::YoungPagesView;
