//! The configuration of a space.

use crate::arenas::protected::ProtectedChunks;

/// The smallest reservation of a heap, in bytes.
pub const MIN_RESERVATION: usize = 16 << 20;
/// The largest: page numbers have 32 bits here.
pub const MAX_RESERVATION: usize = 1 << 44;

/// The reservation that is tried first for `bytes` bytes.
pub fn rounded_reservation(bytes: usize) -> usize {
    bytes.clamp(MIN_RESERVATION, MAX_RESERVATION).next_power_of_two()
}

/// The configuration of a space.
#[derive(Clone, Copy, Debug)]
pub struct SpaceConfig {
    /// Bytes of address space to reserve, from [`MIN_RESERVATION`] to [`MAX_RESERVATION`], a power of two.
    pub reservation: usize,
    /// Bytes of it that the heap may take up, used or not. Unlike the limit, this costs nothing to enforce.
    pub most: Option<usize>,
    /// Bytes the heap may use for spans.
    pub limit: Option<usize>,
    /// Ask for huge pages.
    pub huge_pages: bool,
    /// Fill freed cells with [`CLOBBER`].
    pub clobber: bool,
    /// The objects that the program frees, and the dead ones that are to be [kept](crate::Stopped::for_each_dead), take their cells
    /// until a full collection lets them go.
    pub keep_freed: bool,
    /// Protect the chunks that arenas have given up against all access, and count them here, with those of the process's
    /// other heaps.
    pub protect_arenas: Option<&'static ProtectedChunks>,
    /// Make runs of one cell, so that every allocation takes the slow path.
    pub single_cells: bool,
}

/// The byte that fills freed memory in verify mode: as a pointer it is outside every heap.
pub const CLOBBER: u8 = 0xDB;
