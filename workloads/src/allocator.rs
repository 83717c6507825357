//! The allocator of a workload. Programs that an experiment runs with several allocators are generic over this. The
//! compiler makes a copy of the program for each, so the measured copy has no branch for another one.

use heapwood::{Buffer, Gc, Mutator, Trace};

/// A way to allocate in a heap.
pub trait Allocator {
    /// The calling thread's mutator.
    fn mutator(&self) -> &Mutator;

    /// An object that holds `value`.
    fn alloc<T: Trace>(&self, value: T) -> Gc<T>;

    /// Uninitialised memory without pointers.
    fn alloc_buffer(&self, bytes: usize) -> Gc<Buffer>;
}

/// The heap's own allocator: runs of cells that belong to the thread.
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
