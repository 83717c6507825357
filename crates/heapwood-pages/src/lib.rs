//! A page allocator: which 8 KiB pages of a window are free, and where the first run of `n` of them begins.
//!
//! Who may use it: the crates of Heapwood, and allocators of others that accept that it changes with them.
//!
//! A bitmap holds one bit a page; a radix tree over it holds, for every region, how many pages are free at its
//! start, in its longest run, and at its end. Requests are served first fit by address. The crate deals in plain
//! page indexes: it owns no memory but its own tables and knows nothing of objects or of garbage. Free pages that were
//! never touched or were released are *scavenged*, all others may be *resident*: have physical memory.
//!
//! The design is that of "Proposal: Scaling the Go page allocator" (Knyszek and Clements, 2019).
//!
//! | module | what it holds |
//! |---|---|
//! | [`page`] | the size of a page |
//! | [`units`] | pages, page counts, chunks: the indexes everything speaks in |
//! | [`geometry`] | pages a chunk, levels and fan-out of the tree, fixed at compile time |
//! | [`summary`] | start, longest and end of the free runs of a region in one word |
//! | [`allocator`] | [`PageAllocator`]: grow, allocate, claim, free |
//! | [`cache`] | [`PageCache`]: pages cached for one mutator |
//! | [`long_cache`] | [`LongCache`]: the same for long runs |
//! | `batch` | many frees with one update of the tree |
//! | [`scavenge`] | which free pages to release, and what is known of them |
//! | `index` | which chunks may have some, found without a lock |
//! | [`shared`] | [`SharedPages`]: the allocator behind a lock, for many threads |
//! | `snapshot` | the pages as they were at one moment, and an allocator made from that |
//! | `inspect` | the state of each page, and pages that are taken because they are these |
//! | [`paced_work`] | slices of background work and rests between, under any clock |
//! | [`duty_cycle`] | the share of a CPU that background work keeps |
//! | [`error`] | why an operation was refused, and what an allocator has wrong about itself |
//! | [`walker`] | recomputing everything from the bits, and the first disagreement found |
//! | `chunk` | the bits of one chunk |
//! | `lazy_array` | lazily committed arrays; with `index`, the crate's only unsafe code |
//! | `tree` | finding a run, and keeping the summaries true |
//!
//! ```
//! use heapwood_pages::{AllocateError, Bits48, PageAllocator, PageCount, PageIndex};
//!
//! // A window of 1 GiB, of which 16 MiB exist so far, in two pieces.
//! let window = PageCount::from_bytes(1 << 30);
//! let mut pages = PageAllocator::<Bits48>::new(&heapwood_os::SYSTEM, window)?;
//! pages.grow(PageIndex(0), PageCount(1024))?;
//! pages.grow(PageIndex(50_000), PageCount(1024))?;
//!
//! assert_eq!(pages.allocate(PageCount(1000))?.first, PageIndex(0));
//! assert_eq!(pages.allocate(PageCount(100))?.first, PageIndex(50_000));
//! assert_eq!(pages.allocate(PageCount(24))?.first, PageIndex(1000));
//! assert!(matches!(pages.allocate(PageCount(925)), Err(AllocateError::NoRun { .. })));
//!
//! pages.free(PageIndex(0), PageCount(1000))?;
//! assert_eq!(pages.free_pages(), PageCount(1924));
//! pages.is_valid()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

pub mod allocator;
mod batch;
pub mod cache;
mod chunk;
pub mod duty_cycle;
pub mod error;
pub mod geometry;
#[allow(unsafe_code, reason = "entries of reserved, partly committed memory")]
mod index;
mod inspect;
#[allow(unsafe_code, reason = "entries of reserved, partly committed memory")]
mod lazy_array;
pub mod lock_order;
pub mod long_cache;
#[cfg(all(test, loom))]
#[allow(unsafe_code, reason = "memory on the model's heap, given back by hand")]
mod model;
pub mod paced_work;
pub mod page;
pub mod scavenge;
pub mod shared;
pub mod snapshot;
pub mod summary;
mod tree;
pub mod units;
pub mod walker;

pub use allocator::{PageAllocator, PageRun};
pub use cache::PageCache;
pub use duty_cycle::DutyCycle;
pub use error::{AllocateError, FreeError, GrowError, NewError, ValidationError};
pub use error::{ClaimError, SnapshotError};
pub use geometry::{Bits32, Bits48, Geometry, Tiny};
pub use long_cache::LongCache;
pub use paced_work::{Clock, PacedWork};
pub use page::PAGE_SIZE;
pub use scavenge::{Release, ReleasePolicy};
pub use shared::{Effort, PageStats, SharedPages};
pub use snapshot::{ChunkSnapshot, Snapshot};
pub use summary::Summary;
pub use units::{ChunkIndex, PageCount, PageIndex};
