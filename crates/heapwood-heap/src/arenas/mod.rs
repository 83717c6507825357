//! Arenas: memory for what dies together. An arena takes chunks, runs of pages from 8 KiB to 2 MiB, and hands out what lies in them
//! one value after the other: those with pointers from below, those without from above. All of it is given back at once.
//!
//! To a collector a chunk is one large object, and the chunks of an arena are a ring, each of which leads to the next: so an arena
//! lives as a unit, as long as its handle is open or anything points into it. Where its pointers are is told by bits beside the heap,
//! written a run of equal objects at a time.
//!
//! | file | what it holds |
//! |---|---|
//! | `layout` | what an arena is told of a type |
//! | `header` | an arena's cursors, its place among its mutator's others |
//! | `chunk` | how large chunks are; what the descriptor of one says |
//! | `chunks` | chunks that no arena has |
//! | `supply` | where chunks come from; when their memory, their addresses and their pages go back |
//! | `lists` | a mutator's arenas |
//! | `allocate` | values, runs, and chunks for them |
//! | `open` | arenas are opened, emptied and closed |
//! | `visit` | what a collection does with a mutator's arenas |
//! | `find` | from an address to an arena |
//!
//! Freeing a whole arena at once is as old as Hanson's "Fast allocation and deallocation of memory based on object lifetimes"
//! (1990). What huge pages do for arenas, and giving back after 8 MiB rather than 64, is the document's (golang/go#51667); the
//! measurements are in docs/design/arenas.md.

mod allocate;
pub(crate) mod chunk;
pub(crate) mod chunk_pool;
pub(crate) mod find;
pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod lists;
pub(crate) mod open;
mod supply;
pub(crate) mod visit;
