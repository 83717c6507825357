//! What a thread has freed last, a stack of cells for each size class: mostly the next allocation of that size takes one, without a look at the
//! space. To the space these cells are objects still; when a stack is full the older half goes to the depot, and back from there when it is
//! empty. (Bonwick's magazines.) Invariant: the words of a scanned cell in a stack are zeros.

use super::depot::BOXED;
use super::size::{KEPT_CELLS, Place, Usual, most_kept};
use core::cell::Cell;
use heapwood_os::memory::region::Zeroed;

/// The cells of one size class, which is scanned or not.
pub(super) struct Magazine {
    len: Cell<usize>,
    cells: [Cell<usize>; KEPT_CELLS],
}

// SAFETY: zeros are an empty stack.
unsafe impl Zeroed for Magazine {}

impl Magazine {
    /// The cell that was freed last.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<*mut u8> {
        let len = self.len.get().checked_sub(1)?;
        self.len.set(len);
        Some(self.cells[len % KEPT_CELLS].get() as *mut u8)
    }

    /// Puts a cell on top; false if there is no room.
    ///
    /// # Safety
    /// 1. It is a cell of this class, of at most [`Usual::MOST`] bytes, and nobody uses it.
    #[inline(always)]
    pub(super) unsafe fn push_usual(&self, usual: Usual, cell: *mut u8) -> bool {
        let len = self.len.get();
        if len >= usual.most_kept() {
            return false;
        }
        if usual.is_scanned {
            // SAFETY: contract 1.
            unsafe { zero(cell, usual.bytes()) };
        }
        self.cells[len % KEPT_CELLS].set(cell as usize);
        self.len.set(len + 1);
        true
    }

    /// Fills an empty stack by `take`, which writes cells and says how many; false if there are none.
    #[inline]
    pub(super) fn fill(&self, take: impl FnOnce(&[Cell<usize>]) -> usize) -> bool {
        debug_assert_eq!(self.len.get(), 0);
        let len = take(&self.cells[..BOXED]);
        self.len.set(len);
        len != 0
    }

    /// Puts a cell of a place on top; `leave` gets the older half before, if there is no room.
    ///
    /// # Safety
    /// 1. The cell is of this place, and nobody uses it.
    pub(super) unsafe fn push(&self, place: Place, cell: *mut u8, leave: impl FnOnce(&[Cell<usize>])) {
        if place.is_scanned {
            // SAFETY: contract 1.
            unsafe { zero(cell, place.bytes) };
        }
        if self.len.get() >= most_kept(place.bytes) {
            self.halve(leave);
        }
        self.cells[self.len.get() % KEPT_CELLS].set(cell as usize);
        self.len.set(self.len.get() + 1);
    }

    #[cold]
    #[inline(never)]
    fn halve(&self, leave: impl FnOnce(&[Cell<usize>])) {
        let (len, goes) = (self.len.get(), self.len.get().div_ceil(2).min(BOXED));
        leave(&self.cells[..goes]);
        (goes..len).for_each(|i| self.cells[i - goes].set(self.cells[i].get()));
        self.len.set(len - goes);
    }
}

/// What one store zeroes: cells are whole granules of 16 bytes, aligned to them. (A volatile store of a u128 is two on x86-64.)
#[cfg(target_arch = "x86_64")]
type Granule = core::arch::x86_64::__m128i;
#[cfg(not(target_arch = "x86_64"))]
type Granule = u128;

/// Cells up to that are zeroed by a loop: a call takes longer.
const BY_GRANULES: usize = 128;
/// More than 2 KiB glibc's memset zeroes by `rep stosb`, after which the first stores of the cell's next owner miss the cache.
const PIECE: usize = 1 << 10;

/// Zeroes a cell.
///
/// # Safety
/// 1. It has so many bytes, whole granules, and nobody uses it.
#[inline(always)]
unsafe fn zero(cell: *mut u8, bytes: usize) {
    if bytes > BY_GRANULES {
        let mut done = 0;
        while done < bytes {
            let piece = (bytes - done).min(PIECE);
            // SAFETY: contract 1.
            unsafe { cell.add(done).write_bytes(0, piece) };
            done += piece;
        }
        return;
    }
    let (mut at, end) = (cell, cell.wrapping_add(bytes));
    while at < end {
        // Volatile, or the compiler would make it a call after all. SAFETY: contract 1; cells are whole granules.
        unsafe {
            at.cast::<Granule>().write_volatile(core::mem::zeroed());
            at = at.add(size_of::<Granule>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::alloc::Layout;
    use heapwood_os::{MappedArray, SYSTEM};

    #[test]
    fn the_newest_come_back_first_and_the_oldest_go() {
        let memory = MappedArray::<Magazine>::new(&SYSTEM, 1).unwrap();
        memory.commit(0..1).unwrap();
        // SAFETY: it is committed, and zeros are an empty stack.
        let magazine = unsafe { &*memory.at(0) };
        let place = Place::of(Layout::new::<[u64; 4]>()).unwrap();
        const MANY: usize = 3 * KEPT_CELLS;
        let mut cells = vec![[7u64; 4]; MANY];
        let first = cells.as_mut_ptr();
        let mut gone = Vec::new();
        for i in 0..MANY {
            // SAFETY: within the vector, which nothing else uses.
            unsafe {
                magazine.push(place, first.add(i).cast(), |cells| {
                    gone.extend(cells.iter().map(|cell| cell.get() as *mut u8));
                });
            }
        }
        let address = |i: usize| first.wrapping_add(i).cast::<u8>();
        assert_eq!(gone, (0..gone.len()).map(address).collect::<Vec<_>>());
        let back: Vec<_> = core::iter::from_fn(|| magazine.pop()).collect();
        assert_eq!(back, (gone.len()..MANY).rev().map(address).collect::<Vec<_>>());
        assert!(gone.len() >= MANY - KEPT_CELLS && magazine.pop().is_none());
        assert!(cells.iter().all(|cell| *cell == [0; 4]), "they are zeros");
        // The short way takes as many, and no more.
        let usual = Usual::of(Layout::new::<[u64; 4]>()).unwrap();
        cells.fill([7; 4]);
        let first = cells.as_mut_ptr();
        // SAFETY: as above.
        let taken = (0..MANY).filter(|&i| unsafe { magazine.push_usual(usual, first.add(i).cast()) }).count();
        assert_eq!((taken, usual.most_kept()), (KEPT_CELLS, KEPT_CELLS));
        assert_eq!(magazine.pop(), Some(first.wrapping_add(KEPT_CELLS - 1).cast()));
        assert!(cells.iter().enumerate().all(|(i, cell)| *cell == [if i < KEPT_CELLS { 0 } else { 7 }; 4]));
    }
}
