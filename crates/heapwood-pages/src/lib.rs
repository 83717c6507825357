//! A page allocator for the 8 KiB pages of a reservation: it finds the first run of `n` free pages.
//!
//! It is for the crates of Heapwood, and for other allocators that accept its changes.
//!
//! A bitmap has one bit for each page. A radix tree over it has, for every region, the number of free pages at its
//! start, in its longest run, and at its end. Requests are served first fit by address. The crate uses plain page
//! indexes: it owns no memory but its own tables and knows nothing of objects or of garbage. Free pages that were never
//! touched or were released are *scavenged*; all others may be *resident*, that is, have physical memory.
//!
//! The design is that of "Proposal: Scaling the Go page allocator" (Knyszek and Clements, 2019).
//!
//! | module | contents |
//! |---|---|
//! | [`page`] | the size of a page |
//! | [`units`] | pages, page counts, chunks: the units of all modules |
//! | [`geometry`] | pages of a chunk, levels and fan-out of the tree, fixed at compile time |
//! | [`summary`] | the free runs of a region in one word |
//! | [`allocator`] | [`PageAllocator`]: grow, allocate, claim, free |
//! | [`cache`] | [`PageCache`]: the cached pages of one mutator |
//! | [`long_cache`] | [`LongCache`]: the same for long runs |
//! | `batch` | many frees with one update of the tree |
//! | [`scavenge`] | the choice of free pages to release |
//! | `index` | the chunks that may have pages to release, found without a lock |
//! | [`shared`] | [`SharedPages`]: the allocator behind a lock, for many threads |
//! | [`snapshot`] | the pages at one moment |
//! | [`residency`] | what of the pages the kernel has in memory |
//! | `inspect` | the state of single pages, and the allocation of given ones |
//! | [`paced_work`] | slices of background work with rests between them, under any clock |
//! | [`error`] | why no pages were allocated, wrong frees, inconsistencies |
//! | [`walker`] | recomputes everything from the bits |
//! | `chunk` | the bits of one chunk |
//! | `lazy_array` | lazily committed arrays; with `index`, the crate's only unsafe code |
//! | `tree` | the tree of summaries, and the search for a run |
//!
//! ```
//! use heapwood_pages::{Bits48, PageAllocator, PageCount, PageIndex};
//!
//! // A reservation of 1 GiB. So far 16 MiB of it exist, in two parts.
//! let reservation = PageCount::from_bytes(1 << 30);
//! let mut pages = PageAllocator::<Bits48>::new(&heapwood_os::SYSTEM, reservation)?;
//! pages.grow(PageIndex(0), PageCount(1024))?;
//! pages.grow(PageIndex(50_000), PageCount(1024))?;
//!
//! assert_eq!(pages.allocate(PageCount(1000))?.first, PageIndex(0));
//! assert_eq!(pages.allocate(PageCount(100))?.first, PageIndex(50_000));
//! assert_eq!(pages.allocate(PageCount(24))?.first, PageIndex(1000));
//! assert_eq!(pages.allocate(PageCount(925)).unwrap_err().free, PageCount(924));
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
#[allow(unsafe_code, reason = "memory on the model's heap, released explicitly")]
mod model;
pub mod paced_work;
pub mod page;
pub mod residency;
pub mod scavenge;
pub mod shared;
pub mod snapshot;
pub mod summary;
mod tree;
pub mod units;
pub mod walker;

pub use allocator::{PageAllocator, PageRun};
pub use cache::PageCache;
pub use error::{AllocateError, FreeError, ValidationError};
pub use geometry::{Bits32, Bits48, Geometry, Tiny};
pub use long_cache::LongCache;
pub use paced_work::{Clock, PacedWork};
pub use page::PAGE_SIZE;
pub use residency::Residency;
pub use scavenge::{PendingRelease, ScavengePolicy};
pub use shared::{Effort, PageStats, SharedPages};
pub use snapshot::{ChunkSnapshot, Snapshot};
pub use summary::Summary;
pub use units::{ChunkIndex, PageCount, PageIndex};
