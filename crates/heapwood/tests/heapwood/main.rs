//! The tests of the Rust interface, one module a subject. `common` has heaps and lists that several of them use.

mod accidents;
mod alloc;
mod arenas;
mod buffers;
mod cells;
mod collections;
mod common;
mod derive;
mod errors;
mod examples;
mod finalize;
mod gc_arena_cases;
mod heap;
mod large_types;
mod limits;
mod mutations;
mod references;
mod roots;
mod session;
mod session_programs;
mod slices;
mod stale;
mod texts;
mod threads;
mod ui;
mod weak;
