//! What is right only in a stopped world is not to be had from a heap that runs.
#![forbid(unsafe_code)]

use heapwood_gc::{Config, Heap};

fn main() {
    let heap = Heap::create(&heapwood_os::SYSTEM, Config::default()).unwrap();
    heap.space().end_marking(0);
    heap.space().for_each_object(|_, _| {});
    heap.space().is_valid().unwrap();
    heap.space().marks().flip();
}
