//! Types and objects as plain addresses, and lists that know what they hold.

use crate::words;
use core::hint::black_box;
use core::ptr::NonNull;
use heapwood_gc::{Heap, Mutator, ObjectType, Tracer};
use heapwood_heap::{Address, ObjectRef};
use heapwood_layout::{TraceContext, TypeDescriptor, WORD};

/// A type of `words` words with pointers at `slots`.
pub fn masked(heap: &Heap, words: usize, slots: &[usize]) -> ObjectType {
    let mut mask = vec![0u64; words.div_ceil(64)];
    slots.iter().for_each(|&s| mask[s / 64] |= 1 << (s % 64));
    heap.types().register(&TypeDescriptor::masked(words * WORD, &mask).unwrap()).unwrap()
}

/// Two pointers and two words of data.
pub fn node_type(heap: &Heap) -> ObjectType {
    masked(heap, 4, &[0, 1])
}

pub fn pointer_free(heap: &Heap, bytes: usize) -> ObjectType {
    heap.types().register(&TypeDescriptor::no_pointers(bytes).unwrap()).unwrap()
}

pub fn new(mutator: &Mutator, ty: ObjectType) -> usize {
    mutator.allocate(ty).unwrap().as_ptr() as usize
}

/// Frees an object to which nothing that is alive refers.
pub fn free(mutator: &Mutator, object: usize) {
    // SAFETY: the tests free what nothing refers to any more.
    unsafe { mutator.free(NonNull::new(object as *mut u8).unwrap()) }.unwrap();
}

/// Reads a word of an object.
pub fn get(object: usize, word: usize) -> usize {
    assert!(object != 0);
    // SAFETY: the tests read words that the object's type has.
    unsafe { (object as *const usize).add(word).read() }
}

/// Writes a word without the barrier: data, and stores that initialise.
pub fn put(object: usize, word: usize, value: usize) {
    // SAFETY: as above.
    unsafe { words::store((object as *mut usize).add(word), value) };
}

/// Writes a pointer through the barrier.
pub fn link(mutator: &Mutator, object: usize, word: usize, to: usize) {
    // SAFETY: the tests name slots of objects that exist, and store addresses of objects.
    unsafe {
        mutator.barrier().write(ObjectRef::new(object), (object as *mut usize).add(word), Address::new(to))
    };
}

/// Puts `n` nodes in front of the list whose head `keep` holds; node `i` holds `seed + i`. Word 0 leads on.
pub fn extend_list(
    mutator: &Mutator,
    node: ObjectType,
    n: usize,
    seed: usize,
    mut head: impl FnMut(Option<usize>) -> usize,
) {
    for i in 0..n {
        let object = new(mutator, node);
        // The head is read after the allocation, which may have collected: nothing moves, but it has to be kept.
        put(object, 0, head(None));
        put(object, 2, seed + i);
        head(Some(object));
    }
}

/// Checks a list made by [`extend_list`].
pub fn check_list(mut at: usize, n: usize, seed: usize) {
    for i in (0..n).rev() {
        assert_ne!(at, 0, "the list ends {} nodes early", i + 1);
        assert_eq!(get(at, 2), seed + i, "node {i} of {n}");
        at = get(at, 0);
    }
    assert_eq!(at, 0, "the list goes on");
}

/// A trace function: word `WORD_OF_IT` is a pointer to an object, or null.
pub unsafe extern "C" fn trace_word<const WORD_OF_IT: usize>(
    object: *mut u8,
    _: usize,
    context: *mut TraceContext,
) {
    // SAFETY: an object of the type has this word; the context is passed on as it came.
    unsafe { Tracer::from_context(context).visit(words::load(object.cast::<usize>().add(WORD_OF_IT))) };
}

/// An object that holds its number in word 2, as its address's complement, which no scan of a stack takes for a pointer.
#[inline(never)]
pub fn hidden_object(mutator: &Mutator, ty: ObjectType, number: usize) -> usize {
    let object = new(mutator, ty);
    put(object, 2, number);
    !object
}

/// Overwrites the stack below the caller, as any later call would sooner or later.
#[inline(never)]
pub fn wipe_stack() {
    black_box([0usize; 2048]);
}
