//! The non-moving heap under Heapwood: size classes, spans, allocation, sweeping. For implementers of collectors and of
//! interfaces on top; programs use `heapwood` or `heapwood-c`.
//!
//! A [`Space`] is one heap's memory; it knows which cells exist and how their layout is found, and nothing of
//! roots, threads or when to collect. A mutator allocates from its allocation buffers ([`AllocBuffer`]) and comes with the right to them, an
//! [`Owner`], when a run is used up; a collector stops the world, which a [`Stopped`] says, marks through
//! [`Stopped::mark_side`] and ends with [`Stopped::end_marking`].
//!
//! From the top: each floor uses those below it, owns the next, and is seen by none of them.
//!
//! | module | what it holds |
//! |---|---|
//! | `space` | the face, which owns the rest |
//! | `stopped` | a space that stands still: marking, walking, checking |
//! | `check` | recomputes what must hold; snapshots of the pages |
//! | `alloc` | mutators: allocation buffers, the slow path, large objects |
//! | `arenas` | memory for what dies together |
//! | `reclaim` | what mutators share: lists of spans, the budget, sweeping |
//! | `pages` | where spans get pages: the reservation, growth, the limit, release |
//! | `marks`, `freed` | mark and allocation bits; what the program freed itself |
//! | `spans` | from an address to its span |
//! | `layout` | from a type to a shape, and what is written for an object |
//! | `young_pages_view` | what a write barrier asks |
//! | `address`, `granule`, `config`, `error` | the words in which all this speaks |
//! | [`publication`] | what is seen before a pointer to a new object is |
//! | [`cpu`], [`prefetch`] | what the processor can do; hints |

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
mod layout;
mod marks;
#[cfg(all(test, loom))]
mod model;
mod pages;
mod reclaim;
mod space;
mod spans;
mod stopped;
mod young_pages_view;

pub use address::{Address, ObjectRef};
pub use alloc::alloc_buffer::AllocBuffer;
pub use alloc::large::LargePages;
pub use alloc::owner::Owner;
pub use alloc::thread_cache::ThreadCache;
pub use arenas::chunk::MOST_IN_ARENA;
pub use arenas::chunk_pool::ArenaBytes;
pub use arenas::find::{ArenaPlace, MarkedArenaChunk};
pub use arenas::header::{ArenaHeader, ArenaKind, ArenaState};
pub use arenas::layout::ArenaLayout;
pub use arenas::open::Closing;
pub use arenas::visit::ArenaWords;
pub use config::{CLOBBER, MAX_WINDOW, MIN_WINDOW, SpaceConfig, rounded_window};
pub use error::{FreeError, NoRoom, RegisterProgramError, ShapeError, SpaceError, ValidationError};
pub use granule::GRANULE;
pub use layout::pointer_bits::PointerBits;
pub use layout::program_id::{MOST_NODES, MOST_UNROLLED, ProgramId};
pub use layout::shape::{MAX_ELEMENT_WORDS, Scan, ScanKind, Shape};
pub use layout::shape_id::{MAX_OWN_SHAPES, MAX_SHAPES, ShapeId};
pub use layout::size_class::{MAX_SMALL, MAX_TABLED, SizeClass};
pub use marks::{Collection, MarkSide};
pub use pages::page_heap::Object;
pub use reclaim::clock::{ReclaimClock, ReclaimTimes, Sweeping};
pub use space::{Arenas, Layouts, PageMemory, Space, SpaceStats};
pub use spans::page_table::PageEntry;
pub use spans::span::{Cells, Span};
pub use stopped::{OpenSpans, Stopped};
pub use young_pages_view::YoungPagesView;
