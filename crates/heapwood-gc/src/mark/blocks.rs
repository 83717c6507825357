//! Blocks: edges, and perhaps a range, on their way from one marker to another. Invariant: only the thread that holds a
//! block's name reads or writes the block.

use super::marker_pool::{BlockId, MOST_BLOCKS};
use super::stack::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The most edges in a block; a block with its range takes 4 KiB.
const EDGES: usize = (4096 - size_of::<Range>() - size_of::<usize>()) / size_of::<usize>();

/// Edges that one marker hands to another. All zeros are an empty block.
#[repr(C)]
pub(super) struct Block {
    /// Empty if the block has no range.
    range: Range,
    len: usize,
    edges: [usize; EDGES],
}

// SAFETY: all-zero bytes are an empty block; it holds plain numbers.
unsafe impl Zeroed for Block {}

const _: () = assert!(size_of::<Block>() == 4096);

impl Block {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0 && self.range.next >= self.range.end
    }

    /// The number of edges that still fit.
    pub(super) fn room(&self) -> usize {
        EDGES - self.len
    }

    /// Adds an edge; the caller has checked that it fits.
    pub(super) fn push(&mut self, edge: usize) {
        self.edges[self.len] = edge;
        self.len += 1;
    }

    /// Adds edges; the caller has checked that they fit.
    pub(super) fn push_all(&mut self, edges: &[usize]) {
        self.edges[self.len..][..edges.len()].copy_from_slice(edges);
        self.len += edges.len();
    }

    /// Sets the block's range.
    pub(super) fn put_range(&mut self, range: Range) {
        self.range = range;
    }

    pub(super) fn has_range(&self) -> bool {
        self.range.next < self.range.end
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        self.len = self.len.checked_sub(1)?;
        Some(self.edges[self.len])
    }

    pub(super) fn take_range(&mut self) -> Option<Range> {
        let range = self.range;
        self.range.end = self.range.next;
        (range.next < range.end).then_some(range)
    }
}

/// The memory of a pool's blocks.
pub(super) struct Blocks(MappedArray<Block>);

impl Blocks {
    /// N empty blocks, at most [`MOST_BLOCKS`].
    pub(super) fn new(kernel: KernelRef, blocks: usize) -> Result<Self, OsError> {
        let memory = MappedArray::new(kernel, blocks.min(MOST_BLOCKS))?;
        memory.commit(0..memory.len())?;
        Ok(Blocks(memory))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The block of this name.
    pub(super) fn get<'b>(&'b self, name: &'b mut BlockId) -> &'b mut Block {
        // SAFETY: all blocks are committed. A pool gives out names below its number of blocks, each once, and this one
        // is borrowed exclusively.
        unsafe { &mut *self.0.at(name.0 as usize) }
    }
}

impl Mapped for Blocks {
    fn for_each_mapping(&self, f: &mut dyn FnMut(core::ops::Range<usize>)) {
        self.0.for_each_mapping(f);
    }
}
