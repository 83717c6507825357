//! The ranks of a space's locks, in the order in which they are taken (`heapwood_os::threads::lock_order`). Invariant: a fork
//! holds them all; [`HELD_BY_FORK`] has each that [`Space::fork_locks`](crate::Space::fork_locks) walks over.

use heapwood_os::threads::lock_order::{LockRank, set_of};

/// The table of shapes, while one is registered.
pub const SHAPES: LockRank = 40;
/// The programs of shapes, while one is registered.
pub const PROGRAMS: LockRank = 41;
/// The central span lists.
pub const CENTRAL: LockRank = 42;
/// The pool of arena chunks.
pub const ARENA_CHUNKS: LockRank = 43;

/// Those that a fork holds.
pub const HELD_BY_FORK: u64 =
    set_of(&[SHAPES, PROGRAMS, CENTRAL, ARENA_CHUNKS, heapwood_pages::lock_order::PAGES]);
