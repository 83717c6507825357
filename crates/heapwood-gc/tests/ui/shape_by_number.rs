//! A shape's number comes from a heap: one that was made up led outside the table of shapes.
#![forbid(unsafe_code)]

fn main() {
    let heap = heapwood_gc::Heap::create(&heapwood_os::SYSTEM, heapwood_gc::Config::default()).unwrap();
    heap.space().layouts().shape(heapwood_heap::ShapeId::from_index(1 << 28)).cell_size;
}
