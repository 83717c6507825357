//! The bounded stacks of marking: edges still to follow, and large objects scanned in pieces. Both have a fixed
//! capacity in mapped memory; a push that does not fit is refused, and [`super::overflow`] takes over.

use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};

/// Edges the stack holds unless configured otherwise: 128 MiB of address space, touched only as deep as it gets.
pub const USUAL_EDGES: usize = 1 << 24;
/// What is made do with where address space is short.
const LEAST_EDGES: usize = 1 << 14;
const RANGES: usize = 1 << 12;
/// Entries kept in memory between collections.
const KEEP: usize = 1 << 14;
const _: () = assert!((KEEP * size_of::<usize>()).is_multiple_of(heapwood_os::MOST_KERNEL_PAGE));
const _: () = assert!((KEEP * size_of::<Range>()).is_multiple_of(heapwood_os::MOST_KERNEL_PAGE));

/// A stack of `T` in mapped memory.
pub struct Bounded<T> {
    memory: MappedArray<T>,
    top: usize,
}

impl<T: Zeroed + Copy> Bounded<T> {
    fn new(kernel: KernelRef, capacity: usize) -> Result<Self, OsError> {
        let memory = MappedArray::new(kernel, capacity.max(1))?;
        memory.commit(0..memory.len())?;
        Ok(Bounded { memory, top: 0 })
    }

    /// Puts `value` on top; false if the stack is full.
    #[inline(always)]
    pub fn push(&mut self, value: T) -> bool {
        if self.top == self.memory.len() {
            return false;
        }
        // SAFETY: the whole array is committed and top is below its length.
        unsafe { self.memory.at(self.top).write(value) };
        self.top += 1;
        true
    }

    /// Takes the top.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.top == 0 {
            return None;
        }
        self.top -= 1;
        // SAFETY: the entry was written by a push.
        Some(unsafe { self.memory.at(self.top).read() })
    }

    /// The first entry, for a loop that keeps the top in a register.
    pub(crate) fn bottom(&self) -> *mut T {
        self.memory.as_ptr()
    }

    /// Where the next entry goes.
    pub(crate) fn top(&self) -> *mut T {
        self.bottom().wrapping_add(self.top)
    }

    /// Takes over the top that such a loop has reached.
    pub(crate) fn set_top(&mut self, top: *mut T) {
        self.top = (top as usize - self.bottom() as usize) / size_of::<T>();
    }

    /// The highest top that leaves room for `entries` more, one of which may be written without being kept.
    pub(crate) fn room_for(&self, entries: usize) -> *mut T {
        self.bottom().wrapping_add(self.memory.len().saturating_sub(entries + 1))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.top
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// Gives memory back after a deep marking. Entries are not zero, and untouched memory is: so those at the mark
    /// tell whether the stack was deeper. (Several, since one may have been overwritten by what was not kept.)
    fn settle(&mut self) {
        debug_assert!(self.is_empty());
        let mut at_the_mark = KEEP..self.memory.len().min(KEEP + 64);
        // SAFETY: the whole array is committed, and an entry begins with a word.
        if at_the_mark.any(|i| unsafe { self.memory.at(i).cast::<usize>().read() } != 0) {
            // SAFETY: the whole array is committed, and an empty stack needs no contents.
            let _ = unsafe { self.memory.shrink(KEEP, self.memory.len()) };
        }
    }
}

/// A part of a large object that remains to be scanned.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The next word to scan.
    pub(crate) next: usize,
    /// One past the last.
    pub(crate) end: usize,
    /// The number of its shape, for the mask; 0 if any word may be a pointer.
    pub(crate) shape: u32,
    /// Nobody need ask any more which of its pages were ever written.
    pub(crate) dense: bool,
}

// SAFETY: all-zero bytes are an empty range; it holds plain numbers.
unsafe impl Zeroed for Range {}

/// The stacks of one collector.
pub struct MarkStacks {
    pub(crate) edges: Bounded<usize>,
    pub(crate) ranges: Bounded<Range>,
}

impl MarkStacks {
    /// Stacks for `edges` edges.
    pub fn new(kernel: KernelRef, edges: usize) -> Result<Self, OsError> {
        Ok(MarkStacks {
            edges: Bounded::new(kernel, edges)?,
            ranges: Bounded::new(kernel, RANGES.min(edges.max(1)))?,
        })
    }

    /// Stacks of the usual size, or smaller ones where the kernel grants less address space.
    pub(crate) fn usual(kernel: KernelRef) -> Result<Self, OsError> {
        let mut edges = USUAL_EDGES;
        loop {
            match Self::new(kernel, edges) {
                Err(_) if edges > LEAST_EDGES => edges /= 4,
                done => return done,
            }
        }
    }

    pub(crate) fn settle(&mut self) {
        self.edges.settle();
        self.ranges.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_stack_refuses_and_keeps_what_it_has() {
        let mut s = Bounded::<usize>::new(&heapwood_os::SYSTEM, 3).unwrap();
        assert!(s.push(1) && s.push(2) && s.push(3) && !s.push(4));
        assert_eq!((s.pop(), s.pop(), s.pop(), s.pop()), (Some(3), Some(2), Some(1), None));
    }
}
