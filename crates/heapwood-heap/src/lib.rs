//! The non-moving heap under Heapwood: size classes, spans, allocation, sweeping.
//!
//! Who may use it: the crates of Heapwood alone; programs take `heapwood` or `heapwood-c`.
//!
//! A [`Space`] is one heap's memory; it knows which cells exist and how their layout is found, and nothing of
//! roots, threads or when to collect. A mutator allocates from its [`Bumps`] and comes to [`Space::refill`] or
//! [`Space::allocate_large`] when a run is used up; a collector marks through [`Space::marks`] and ends with
//! [`Space::end_marking`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`granule`] | the unit of alignment |
//! | [`size_class`] | cell sizes, and the class of a size by arithmetic |
//! | [`shape_id`] | numbers of shapes, and those that every heap knows |
//! | [`shape`] | a class and a layout: what the cells of a span share |
//! | [`page_table`] | a word a page: what lies there |
//! | [`span`] | span descriptors and their states |
//! | [`marks`] | mark and allocation bits |
//! | [`bump`] | a mutator's runs of free cells, the fast path |
//! | [`local`] | what a mutator keeps beside them: pages, an account, which of them are active |
//! | `refill` | the slow path: next run, next span |
//! | `runs` | where the next free cells of a span lie |
//! | [`programs`] | where the pointers of large types are |
//! | [`shapes`] | how types get shapes and programs their numbers |
//! | `rare`, [`pointer_bits`] | layouts of few objects share spans; where the pointers are there |
//! | `large` | objects with pages of their own |
//! | `sweep` | lazy sweeping: span by span at home, pack by pack for everyone |
//! | `release` | memory of free pages goes back to the kernel |
//! | `sample` | a picture of the pages as a sweep would leave them |
//! | [`lookup`] | from an address to its object |
//! | [`space`] | the reserved range, its tables, growth, where pages come from |
//! | `central` | what mutators share under one lock: three lists of spans a shape, the budget |
//! | `span_list` | lists of spans |
//! | [`walker`] | recomputes what must hold |
//! | [`cpu`], [`prefetch`], [`refused`] | what the processor can do; hints; reasons |

pub mod cpu;
pub mod prefetch;

mod address;
mod bump;
mod central;
mod error;
mod granule;
mod large;
mod local;
mod lookup;
mod marks;
mod owner;
mod page_table;
mod pointer_bits;
mod programs;
mod rare;
mod refill;
mod release;
mod runs;
#[cfg(feature = "inspect")]
mod sample;
mod shape;
mod shape_id;
mod shapes;
mod size_class;
mod space;
mod span;
mod span_list;
mod stopped;
mod sweep;
mod walker;

pub use address::{Address, ObjectRef};
pub use bump::Bump;
pub use error::{NoRoom, RegisterProgramError, ShapeError, SpaceError};
pub use granule::GRANULE;
pub use large::LargePages;
pub use local::Local;
pub use lookup::Object;
pub use marks::MarkSide;
pub use owner::Owner;
pub use page_table::PageEntry;
pub use pointer_bits::PointerBits;
pub use programs::{MOST_NODES, MOST_UNROLLED, ProgramId};
pub use shape::{MAX_ELEMENT_WORDS, Scan, ScanKind, Shape};
pub use shape_id::{MAX_SHAPES, ShapeId};
pub use shapes::MAX_OWN_SHAPES;
pub use size_class::{MAX_SMALL, MAX_TABLED, SizeClass};
pub use space::{CLOBBER, MAX_WINDOW, MIN_WINDOW, Space, SpaceConfig, SpaceFigures, rounded_window};
pub use span::{Cells, Span};
pub use stopped::Stopped;
pub use walker::Invalid;
