//! Where a type cannot say it, whoever calls must promise it.
#![forbid(unsafe_code)]

use core::ptr::NonNull;
use heapwood_gc::{Mutator, ObjectType};
use heapwood_heap::ObjectRef;

fn steal(mutator: &Mutator, ty: ObjectType, cache: &heapwood_heap::ThreadCache) {
    let space = mutator.heap().space();
    space.stopped().finish_sweep();
    space.owner(NonNull::dangling(), cache).flush();
    space.pointer_bits().for_each(0..8, |_| {});
    space.numbered_entry(ObjectRef::new(8));
    space.memory().pages().snapshot();
    mutator.buffer(ty.shape()).commit(NonNull::dangling(), 16);
}

fn main() {}
