//! The benchmark programs of Heapwood, each a plain function over the Rust crate.
//!
//! | module | program |
//! |---|---|
//! | [`trees`] | binary trees, as the Benchmarks Game defines them |
//! | [`trees_arena`] | the same in arenas, as in the document on arena performance |
//! | [`arena_document`] | that document's arenas |
//! | [`arena_bump`] | bump arenas for that program |
//! | [`gcbench`] | Ellis, Kovac and Boehm's: trees top down and bottom up beside a long-lived tree and array |
//! | [`churn`] | random replacement in a table of a million objects |
//! | [`mixed`] | a cache of documents of mixed sizes whose contents change over time |
//! | [`rand`] | a table of blocks of random sizes, replaced in turn and never touched: RandSmall and RandLarge |
//! | [`tree1`] | binary trees whose nodes hold a number: Tree1 |
//! | [`conalloc`] | threads that hash small blocks and allocate new ones |
//! | [`graph`] | a graph of a million nodes whose edges are rewritten at random |
//! | [`map`] | a hash map with chains under insertions and deletions |
//! | [`treap`] | an index of byte strings whose every insert copies a path |
//! | [`malloc`] | objects of seven kinds, each dropped at once: the Malloc benchmarks of Go's runtime |
//! | [`deep`] | a deep recursion, to measure what the frames of a stack cost |
//! | [`frag`] | objects of 100 bytes to two kilobytes without pointers, whose sizes drift |
//! | [`queue`] | a queue of objects without pointers, each of which dies middle-aged |
//! | [`linked_list`] | a singly linked list, all of which survives |
//! | [`pipe`] | a thread that makes messages, and one that drops them |
//! | [`weak`] | weak references to small objects, half of which die |
//! | [`finalize`] | objects that own a handle, which is closed when they are dead |
//! | [`weak_map`] | a weak map whose keys die and come, and a table of interned names |
//! | [`latency`] | a cache replaced at random, and the gaps between its steps |
//! | [`lox`] | a virtual machine for Lox, which runs programs with closures, classes, lists and maps |
//! | [`replacements`] | code shared by churn, mixed, graph, map, weak, finalize and weakmap |
//! | `stray` | what programs do that count dead objects |
//! | [`mark`] | a static graph, collected in full |
//! | [`allocator`] | the allocator of a workload |
//! | [`threads`] | a workload on several threads |
//! | `threads_error` | its errors |
//! | [`random`] | the random numbers they share |
//! | [`twister`] | those of [`rand`] |
//! | [`protocol`] | the output that programs are compared by, and its parser |
//! | [`workload`] | the description of a workload |
//! | `list` | all of them, and finding one: [`ALL`] |

pub mod allocator;
pub mod arena_bump;
pub mod arena_document;
pub mod churn;
pub mod conalloc;
pub mod deep;
pub mod finalize;
pub mod frag;
pub mod gcbench;
pub mod graph;
pub mod latency;
pub mod linked_list;
mod list;
pub mod lox;
pub mod malloc;
pub mod map;
pub mod mark;
pub mod mixed;
pub mod pipe;
pub mod protocol;
pub mod queue;
pub mod rand;
pub mod random;
pub mod replacements;
mod stray;
pub mod threads;
mod threads_error;
pub mod treap;
pub mod tree1;
pub mod trees;
pub mod trees_arena;
pub mod twister;
pub mod weak;
pub mod weak_map;
pub mod workload;

pub use list::{ALL, IN_ARENAS, SHARED};
pub use threads_error::ThreadsError;
pub use workload::{
    Across, Figure, Line, N, OutOfRangeError, Share, Threads, ThreadsOutOfRangeError, Workload,
};
