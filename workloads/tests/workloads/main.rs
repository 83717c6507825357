//! The tests of the workloads. `shared_locks` is a test program of its own.

mod check_values;
mod lox;
mod stores;

use heapwood::{Attached, Config, Heap};

/// Makes a heap and attaches this thread.
fn attach(config: Config) -> Attached {
    // SAFETY: the workloads keep their pointers on this thread's stack, in objects and in roots.
    let heap = unsafe { Heap::new(config) }.unwrap();
    heap.attach().unwrap()
}
