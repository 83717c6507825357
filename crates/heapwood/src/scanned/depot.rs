//! What threads have freed and do not keep (`magazine`), for any of them to allocate: boxes of cells of one kind, left and taken without a
//! lock. To the space these cells are objects, as those that a thread keeps are. Invariant: a box is one thread's while that uses it, and the
//! words of scanned cells in it are zeros.

use super::size::{KEPT_CELLS, KINDS};
use core::cell::Cell;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{Boxes, MappedArray, OsError, SYSTEM};

/// The most boxes: two million cells. More than that go back to the space.
const MOST: usize = 1 << 12;
/// As many at least, where the system has few addresses.
const LEAST: usize = 1 << 4;
/// The most cells in a box. With its head it fills 4 KiB; a magazine that is full leaves about half of its cells.
pub(super) const BOXED: usize = KEPT_CELLS / 2 - 1;

/// Cells of one kind.
#[repr(C)]
struct CellBox {
    /// The next one in its stack.
    next: AtomicU32,
    len: Cell<u32>,
    cells: [Cell<usize>; BOXED],
}

// SAFETY: zeros are a box without cells, and the end of a stack.
unsafe impl Zeroed for CellBox {}
// SAFETY: but for its link a box is used by the thread that has it.
unsafe impl Sync for CellBox {}

/// The boxes of the process.
pub(super) struct Depot {
    boxes: AllBoxes,
    stacks: heapwood_os::Depot<KINDS>,
}

struct AllBoxes(MappedArray<CellBox>);

impl AllBoxes {
    fn get(&self, number: NonZeroU32) -> &CellBox {
        // SAFETY: a box that was made is committed, and stays.
        unsafe { &*self.0.at(number.get() as usize - 1) }
    }
}

impl Boxes for AllBoxes {
    fn link(&self, number: NonZeroU32) -> u32 {
        self.get(number).next.load(Ordering::Relaxed)
    }

    fn set_link(&self, number: NonZeroU32, next: u32) {
        self.get(number).next.store(next, Ordering::Relaxed);
    }

    fn make(&self, number: NonZeroU32) -> bool {
        let number = number.get() as usize;
        self.0.commit(number - 1..number).is_ok()
    }
}

impl Depot {
    pub(super) fn new() -> Result<Self, OsError> {
        let mut most = MOST;
        let boxes = loop {
            match MappedArray::new(&SYSTEM, most) {
                Err(_) if most > LEAST => most /= 2,
                done => break done?,
            }
        };
        Ok(Depot { boxes: AllBoxes(boxes), stacks: heapwood_os::Depot::new(most as u32) })
    }

    /// Leaves cells of a kind, at most [`BOXED`]; false if there is no box.
    pub(super) fn put(&self, kind: usize, cells: &[Cell<usize>]) -> bool {
        self.stacks.put(kind, &self.boxes, |number| {
            let place = self.boxes.get(number);
            place.len.set(cells.len() as u32);
            place.cells.iter().zip(cells).for_each(|(to, from)| to.set(from.get()));
        })
    }

    /// Takes the cells of a kind that were left last; their number, 0 if there are none.
    #[inline]
    pub(super) fn take(&self, kind: usize, cells: &[Cell<usize>]) -> usize {
        let taken = self.stacks.take(kind, &self.boxes, |number| {
            let place = self.boxes.get(number);
            let held = &place.cells[..place.len.get() as usize];
            cells.iter().zip(held).for_each(|(to, from)| to.set(from.get()));
            held.len()
        });
        taken.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_cell_that_threads_leave_is_taken_once() {
        const EACH: usize = 20_000;
        let depot = Arc::new(Depot::new().unwrap());
        let threads: Vec<_> = (0..3usize)
            .map(|who| {
                let depot = depot.clone();
                std::thread::spawn(move || {
                    let mine: Vec<_> = (0..EACH).map(|i| Cell::new(1 + who * EACH + i)).collect();
                    let (mut left, mut has) = (mine.as_slice(), Vec::new());
                    let to = [const { Cell::new(0) }; BOXED];
                    while !left.is_empty() {
                        let some = left.len().min(1 + left.len() * 7 % BOXED);
                        assert!(depot.put(who % 2, &left[..some]));
                        left = &left[some..];
                        if some % 3 == 0 {
                            let count = depot.take(1 - who % 2, &to);
                            has.extend(to[..count].iter().map(Cell::get));
                        }
                    }
                    has
                })
            })
            .collect();
        let mut all: Vec<usize> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let to = [const { Cell::new(0) }; BOXED];
        for kind in [0, 1] {
            while let count @ 1.. = depot.take(kind, &to) {
                all.extend(to[..count].iter().map(Cell::get));
            }
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=3 * EACH));
    }

    #[test]
    fn a_depot_without_boxes_refuses() {
        let depot = Depot::new().unwrap();
        let cell = [Cell::new(8)];
        let put = (0..2 * MOST).filter(|_| depot.put(3, &cell)).count();
        assert_eq!(put, MOST);
        let to = [const { Cell::new(0) }; BOXED];
        assert_eq!((depot.take(2, &to), depot.take(3, &to), to[0].get()), (0, 1, 8));
        assert!(depot.put(2, &cell) && !depot.put(2, &cell));
    }
}
