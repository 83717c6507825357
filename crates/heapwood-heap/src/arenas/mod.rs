//! Arenas: memory for objects that die together. An arena takes arena chunks, runs of pages from 8 KiB to 2 MiB, and
//! bump-allocates in them: values with pointers from below, those without from above. All of it is freed at once.
//!
//! To a collection an arena chunk is one large object, and the chunks of an arena form a ring, each leading to the
//! next. So an arena lives as a unit, as long as its handle is open or anything points into it. Bits beside the heap
//! tell where its pointers are, written for a run of equal objects at a time.
//!
//! | file | contents |
//! |---|---|
//! | `layout` | the layout of a type in an arena |
//! | `header` | an arena's cursors, and its links to its mutator's other arenas |
//! | `chunk` | the sizes and descriptors of arena chunks |
//! | `chunk_pool` | arena chunks that no arena has |
//! | `protected` | the number of chunks that no thread can read |
//! | `supply` | the supply of chunks; the release of their memory, addresses and pages |
//! | `lists` | a mutator's arenas |
//! | `allocate` | values, runs, and chunks for them |
//! | `open` | opening, emptying and closing of arenas |
//! | `visit` | the visit of a mutator's arenas by a collection |
//! | `find` | the lookup from an address to an arena |
//!
//! Freeing a whole arena at once is as old as Hanson's "Fast allocation and deallocation of memory based on object
//! lifetimes" (1990). The use of huge pages for arenas, and the release after 8 MiB rather than 64, come from
//! golang/go#51667; the measurements are in docs/results/2026-11/arenas.tsv.

mod allocate;
pub(crate) mod chunk;
pub(crate) mod chunk_pool;
pub(crate) mod find;
pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod lists;
pub(crate) mod open;
mod protected;
mod supply;
pub(crate) mod visit;
