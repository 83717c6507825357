use core::cell::Cell;
use heapwood::{Config, Gc, Heap, Trace, Weak, WeakMap};

#[derive(Trace)]
struct Window {
    parent: Cell<Option<Weak<Window>>>,
}

fn sent<T: Send>(_: T) {}

fn main() {
    // SAFETY: this does not compile.
    let heap = unsafe { Heap::new(Config::default()) }.unwrap();
    let m = heap.attach().unwrap();
    let object: Gc<u64> = m.alloc(7);
    sent(m.weak(object));
    let map: WeakMap<u64, u64> = m.weak_map();
    sent(map);
    // What a dead object owns is dropped on any thread, when nothing is left of what it refers to.
    let _ = m.finalize(object, object);
    let _ = m.alloc_finalized(m.weak(object));
}
