//! What a heap is made with.

use crate::error::HeapError;
use heapwood_layout::MAX_MASK_WORDS;

/// Settings of a heap. With the defaults binary trees take no more memory than in Go, and a quarter of the CPU time or less
/// (docs/results/costs.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much may be allocated between collections, in percent of what was alive at the last one.
    pub percent: u32,
    /// No collection is due while the heap is smaller than this, in bytes: what a program that keeps little alive has
    /// resident in the end. Where memory is bounded, at most an eighth of that.
    pub min_heap: usize,
    /// The bytes that objects may occupy, in whole pages; allocation fails above it. With more than 15/16 of it alive,
    /// collections take at most half of the time, and allocation fails meanwhile where one more might have made room.
    pub limit: Option<usize>,
    /// Bytes of memory that the process may have, which bound a heap without a limit of its own: it aims to stay a tenth
    /// below, with whatever else the process has, and its objects take up at most seven eighths. `None`: what the
    /// memory control groups of the process allow, if that is less than the machine has.
    pub memory: Option<usize>,
    /// Bytes of address space to reserve. `None`: twice the memory that there is, less if the kernel refuses, and a
    /// quarter of `ulimit -v` if that is set.
    pub reserve: Option<usize>,
    /// Ask the kernel for huge pages behind objects, once the heap is larger than a few of them. Without this it gets
    /// none, whatever the system's setting.
    pub huge_pages: bool,
    /// Give memory that is not needed back to the kernel, in a thread that takes at most a hundredth of one CPU.
    pub background_release: bool,
    /// Scan the stacks and registers of attached threads, taking every word that looks like a pointer for one.
    /// Without it only frames, handles and other precise roots keep objects alive.
    pub conservative_stacks: bool,
    /// Check everything after every collection, fill freed memory, and find stores that went around the barrier.
    pub verify: bool,
    /// Collect at every allocation.
    pub stress: bool,
    /// A type that a program describes gets a mask if it has at most so many words, up to 256, which is faster
    /// (docs/design/layout.md).
    pub mask_words: usize,
    /// How many edges the mark stack holds before it overflows to the slower way; `None` for the usual number.
    pub mark_stack: Option<usize>,
}

impl Config {
    /// The defaults.
    pub const DEFAULT: Config = Config {
        percent: 150,
        min_heap: 32 << 20,
        limit: None,
        memory: None,
        reserve: None,
        huge_pages: true,
        background_release: true,
        conservative_stacks: true,
        verify: false,
        stress: false,
        mask_words: MAX_MASK_WORDS,
        mark_stack: None,
    };

    /// The largest growth percentage.
    pub const MAX_PERCENT: u32 = 100_000;

    /// The smallest limit in bytes: one growth step of the heap.
    pub const MIN_LIMIT: usize = 4 << 20;

    pub(crate) fn check(&self) -> Result<(), HeapError> {
        if self.percent == 0 || self.percent > Self::MAX_PERCENT {
            return Err(HeapError::Percent { percent: self.percent });
        }
        if self.mask_words > MAX_MASK_WORDS {
            return Err(HeapError::MaskWords { words: self.mask_words });
        }
        if let Some(limit) = self.limit
            && limit < Self::MIN_LIMIT
        {
            return Err(HeapError::LimitTooSmall { limit });
        }
        if let Some(bytes) = self.reserve
            && bytes > heapwood_heap::MAX_WINDOW
        {
            return Err(HeapError::ReserveTooLarge { bytes });
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::DEFAULT
    }
}
