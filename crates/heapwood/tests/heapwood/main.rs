//! The tests of the Rust interface, one module a subject. `common` has heaps and lists that several of them use, `made`
//! values of every width. Their blocks are watched: none holds the last pointer to an object, in any heap that verifies.

#[global_allocator]
static ALLOCATOR: heapwood::Watched = heapwood::Watched::new();

mod accidents;
mod alloc;
mod arenas;
mod buffers;
mod cells;
mod common;
mod counts;
mod derive;
mod examples;
mod finalize;
mod heap;
mod large_types;
mod limits;
mod made;
mod maps;
mod references;
mod root_vecs;
mod roots;
mod slices;
mod strings;
mod tails;
mod threads;
mod two_heaps;
mod ui;
mod values;
mod vecs;
mod weak;
