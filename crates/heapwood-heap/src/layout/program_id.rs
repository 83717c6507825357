//! Numbers of programs, and the limits on programs in a heap. Invariant: a heap gave the number out.

/// The number of a program within its heap. Only heaps make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ProgramId(u32);

impl ProgramId {
    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn from_index(index: usize) -> Self {
        ProgramId(index as u32)
    }
}

/// The most programs of a heap.
pub(crate) const MAX_PROGRAMS: usize = 1 << 12;
/// Bytes of all programs together.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Nodes of all nests together. (Address space is reserved for all of them, which `ulimit -v` may count.)
pub(crate) const MAX_NODES: usize = 1 << 17;
/// The most nodes of a nest.
pub const MOST_NODES: usize = 1 << 12;
/// A program that needs more nodes, or too deep a nest, is unrolled if its type has at most this many words.
pub const MOST_UNROLLED: usize = 64 * MOST_NODES;
