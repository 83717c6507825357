//! Numbers of programs, and how many of them a heap can have. Invariant: a heap gave the number out.

/// The number of a program within its heap. Heaps alone make them.
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

/// How many programs a heap can have.
pub(crate) const MAX_PROGRAMS: usize = 1 << 12;
/// Bytes of all programs together.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Nodes of all nests together. (Address space is reserved for all these, which `ulimit -v` may count.)
pub(crate) const MAX_NODES: usize = 1 << 17;
/// A nest has at most so many nodes.
pub const MOST_NODES: usize = 1 << 12;
/// A program that would need more, or too many loops in each other, is unrolled if its type has at most N words.
pub const MOST_UNROLLED: usize = 64 * MOST_NODES;
