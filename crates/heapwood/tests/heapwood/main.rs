//! The tests of the Rust interface, one module a subject. `common` has heaps and lists that several of them use.

mod alloc;
mod arenas;
mod buffers;
mod cells;
mod common;
mod derive;
mod examples;
mod finalize;
mod heap;
mod large_types;
mod limits;
mod mutations;
mod references;
mod roots;
mod slices;
mod stale;
mod threads;
mod ui;
mod weak;
