//! The fast paths as a program compiles them: small functions around inlined code. This file has those in Rust,
//! `fast_path.c` those in C, and `golden/` has their machine code, which `tests/golden` compares with the compilers'
//! output. Invariant: nothing else uses this crate. The idea is tcmalloc's (`testing/fast_path.*.golden`).

use heapwood::{Arena, ArenaRef, Gc, GcCell, Mutator, Trace};

/// Two pointers: the shape is a constant.
#[derive(Trace)]
pub struct Pair {
    left: Option<Gc<Pair>>,
    right: Option<Gc<Pair>>,
}

/// A pointer-free object of a class of its own size.
#[derive(Trace)]
pub struct Leaf([u64; 6]);

/// A slot that changes.
pub type Slot = GcCell<Option<Gc<Pair>>>;

/// Allocates two pointers.
#[unsafe(no_mangle)]
pub fn alloc_pair(m: &Mutator, left: Option<Gc<Pair>>, right: Option<Gc<Pair>>) -> Gc<Pair> {
    m.alloc(Pair { left, right })
}

/// Allocates 48 bytes without pointers.
#[unsafe(no_mangle)]
pub fn alloc_leaf(m: &Mutator, word: u64) -> Gc<Leaf> {
    m.alloc(Leaf([word; 6]))
}

/// Allocates two pointers in an arena.
#[unsafe(no_mangle)]
pub fn arena_alloc_pair<'a>(
    arena: &'a Arena<'a>,
    left: Option<Gc<Pair>>,
    right: Option<Gc<Pair>>,
) -> ArenaRef<'a, Pair> {
    arena.alloc(Pair { left, right })
}

/// Stores a pointer into an object.
#[unsafe(no_mangle)]
pub fn cell_set(m: &Mutator, slot: &Slot, value: Option<Gc<Pair>>) {
    slot.set(m, value);
}

/// Loads a pointer from an object.
#[unsafe(no_mangle)]
pub fn cell_get(slot: &Slot) -> Option<Gc<Pair>> {
    slot.get()
}

/// Follows a pointer.
#[unsafe(no_mangle)]
pub fn follow(pair: Gc<Pair>) -> Option<Gc<Pair>> {
    pair.left.or(pair.right)
}

/// Reads a word of a leaf.
#[unsafe(no_mangle)]
pub fn read_leaf(leaf: Gc<Leaf>) -> u64 {
    leaf.0[5]
}

/// Polls.
#[unsafe(no_mangle)]
pub fn safepoint(m: &Mutator) {
    m.safepoint();
}
