//! Where the memory of a workload comes from. The programs that an experiment runs with other ways to allocate are generic
//! over this: each way is a copy of the program of its own, made by the compiler, so that the way that is measured holds no
//! branch that another needs.

use heapwood::{Buffer, Gc, Mutator, Trace};

/// A way to allocate in a heap.
pub trait Allocator {
    /// The calling thread's part in the heap.
    fn mutator(&self) -> &Mutator;

    /// An object that holds `value`.
    fn alloc<T: Trace>(&self, value: T) -> Gc<T>;

    /// Memory without pointers that nobody has written yet.
    fn alloc_buffer(&self, bytes: usize) -> Gc<Buffer>;
}

/// The heap's own way: runs of cells that belong to the thread.
impl Allocator for Mutator {
    #[inline(always)]
    fn mutator(&self) -> &Mutator {
        self
    }

    #[inline(always)]
    fn alloc<T: Trace>(&self, value: T) -> Gc<T> {
        Mutator::alloc(self, value)
    }

    #[inline(always)]
    fn alloc_buffer(&self, bytes: usize) -> Gc<Buffer> {
        Mutator::alloc_buffer(self, bytes)
    }
}
