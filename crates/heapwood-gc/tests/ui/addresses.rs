//! An object, an address and a number are not each other.

use heapwood_gc::Mutator;
use heapwood_heap::{Address, ObjectRef};

fn store(mutator: &Mutator, object: ObjectRef, slot: *mut usize, value: Address) {
    let _ = mutator.heap().space().find(8);
    unsafe { mutator.barrier().write(value, slot, object) };
    mutator.barrier().note_init(object, 8, slot);
}

fn main() {}
