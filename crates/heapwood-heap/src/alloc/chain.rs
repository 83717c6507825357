//! Chains: adjacent free cells, linked through their first words, for programs that keep free lists of their own, as libgc's
//! GC_malloc_many makes them. Invariant: cells are linked before they are given out, and in the pass that zeroes them if
//! they are to be zeroed.

use core::ops::Range;
use heapwood_layout::WORD;

/// Links the cells of `size` bytes in a range through their first words, the last to 0; with `zeroes`, zeroes their other words.
///
/// # Safety
/// 1. The cells are the calling thread's.
pub(crate) unsafe fn chain(cells: Range<usize>, size: usize, zeroes: bool) {
    for cell in cells.clone().step_by(size) {
        let next = if cell + size < cells.end { cell + size } else { 0 };
        // SAFETY: contract 1.
        unsafe {
            (cell as *mut usize).write(next);
            if zeroes {
                ((cell + WORD) as *mut u8).write_bytes(0, size - WORD);
            }
        }
    }
}
