//! What a space is made with.

/// The smallest address range a heap can have, in bytes.
pub const MIN_WINDOW: usize = 16 << 20;
/// The largest: page numbers have 32 bits here.
pub const MAX_WINDOW: usize = 1 << 44;

/// The range that is tried first when `bytes` are asked for.
pub fn rounded_window(bytes: usize) -> usize {
    bytes.clamp(MIN_WINDOW, MAX_WINDOW).next_power_of_two()
}

/// What a space is made with.
#[derive(Clone, Copy, Debug)]
pub struct SpaceConfig {
    /// Bytes of address space to reserve, from [`MIN_WINDOW`] to [`MAX_WINDOW`], a power of two.
    pub window: usize,
    /// Bytes of it that the heap may take up, used or not; unlike the limit this costs nothing to keep to.
    pub most: Option<usize>,
    /// Bytes the heap may use for spans.
    pub limit: Option<usize>,
    /// Ask for huge pages.
    pub huge_pages: bool,
    /// Fill freed cells with [`CLOBBER`].
    pub clobber: bool,
    /// Take all access from what arenas have given up.
    pub protect_arenas: bool,
    /// Hand out one cell at a time, so that every allocation takes the slow path.
    pub single_cells: bool,
}

/// What freed memory is filled with in verify mode: as a pointer it is outside every heap.
pub const CLOBBER: u8 = 0xDB;
