//! The bounded stacks of marking: edges to follow, and ranges of large objects to scan. Both have a fixed capacity in
//! mapped memory, committed as deep as markings get. A push fails if it does not fit or the kernel gives no memory, and
//! [`super::overflow`] takes over. Invariant: all entries below the top are committed, and were pushed.

use super::put_off::PutOff;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError, for_each_mapping_of};

/// The usual capacity of the edge stack: 128 MiB of address space.
const USUAL_EDGES: usize = 1 << 24;
/// The least capacity, where address space is short.
const LEAST_EDGES: usize = 1 << 14;
/// One edge of capacity for each N bytes of the reservation, so a stack takes an eighth of it.
const RESERVATION_BYTES_AN_EDGE: usize = 64;
/// Bytes committed from the beginning.
const FIRST_BYTES: usize = 64 << 10;
const RANGES: usize = 1 << 12;
/// Entries kept in memory between collections.
const KEEP: usize = 1 << 14;
const _: () = assert!((KEEP * size_of::<usize>()).is_multiple_of(heapwood_os::MOST_KERNEL_PAGE));
const _: () = assert!((KEEP * size_of::<Range>()).is_multiple_of(heapwood_os::MOST_KERNEL_PAGE));

/// A stack of `T` in mapped memory, committed as it grows.
pub(super) struct Bounded<T> {
    memory: MappedArray<T>,
    top: usize,
    /// The number of committed entries.
    committed: usize,
    /// The kernel has refused more memory since the last [`Bounded::trim`]; the stack does not ask again until then.
    refused: bool,
}

impl<T: Zeroed + Copy> Bounded<T> {
    fn new(kernel: KernelRef, capacity: usize) -> Result<Self, OsError> {
        let memory = MappedArray::new(kernel, capacity.max(1))?;
        let committed = memory.len().min(FIRST_BYTES / size_of::<T>());
        memory.commit(0..committed)?;
        Ok(Bounded { memory, top: 0, committed, refused: false })
    }

    /// Puts `value` on top; false if the stack is full.
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) -> bool {
        if self.top == self.committed && !self.grow() {
            return false;
        }
        // SAFETY: the top is below the committed end.
        unsafe { self.memory.at(self.top).write(value) };
        self.top += 1;
        true
    }

    /// Doubles the committed memory, up to the capacity; false if none is left or the kernel refuses.
    #[cold]
    fn grow(&mut self) -> bool {
        let more = self.memory.len().min(self.committed * 2);
        if self.refused || more == self.committed {
            return false;
        }
        self.refused = self.memory.commit(self.committed..more).is_err();
        if !self.refused {
            self.committed = more;
        }
        !self.refused
    }

    /// Commits more if there is no room for `entries`, one of which may be written without being kept. The stack may
    /// still lack room afterwards.
    #[inline]
    pub(super) fn reserve(&mut self, entries: usize) {
        if self.committed - self.top <= entries {
            self.grow();
        }
    }

    /// Takes the top entry.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.top == 0 {
            return None;
        }
        self.top -= 1;
        // SAFETY: the entry was written by a push.
        Some(unsafe { self.memory.at(self.top).read() })
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.top
    }

    /// Removes the `n` oldest entries and passes them to `f`. If many remain, the youngest fill their places.
    pub(super) fn take_oldest(&mut self, n: usize, f: impl FnOnce(&[T])) {
        let n = n.min(self.top);
        // SAFETY: all entries below the top were pushed.
        f(unsafe { core::slice::from_raw_parts(self.bottom(), n) });
        let rest = self.top - n;
        let moved = rest.min(n);
        // If nothing moves, the top may be the end of the memory.
        if moved > 0 {
            // SAFETY: both ranges lie below the top; they may overlap.
            unsafe { self.memory.at(self.top - moved).copy_to(self.bottom(), moved) };
        }
        self.top = rest;
    }

    /// The first entry, for a loop that keeps the top in a register.
    pub(super) fn bottom(&self) -> *mut T {
        self.memory.as_ptr()
    }

    /// The place of the next entry.
    pub(super) fn top(&self) -> *mut T {
        self.bottom().wrapping_add(self.top)
    }

    /// Sets the top that such a loop has reached.
    pub(super) fn set_top(&mut self, top: *mut T) {
        self.top = (top as usize - self.bottom() as usize) / size_of::<T>();
    }

    /// A top below this address leaves room for `entries` more and one that is written without being kept.
    pub(super) fn room_for(&self, entries: usize) -> *mut T {
        self.bottom().wrapping_add(self.committed.saturating_sub(entries))
    }

    /// Whether it has no entry.
    pub(super) fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// Gives memory back after a deep marking. Entries are not zero, and untouched memory is: nonzero words at `KEEP`
    /// show that the stack was deeper. It reads several, since the loop may have overwritten one with a word that it
    /// did not keep.
    fn trim(&mut self) {
        debug_assert!(self.is_empty());
        self.refused = false;
        let mut at_the_mark = KEEP..self.committed.min(KEEP + 64);
        // SAFETY: these are committed, and an entry begins with a word.
        if at_the_mark.any(|i| unsafe { self.memory.at(i).cast::<usize>().read() } != 0) {
            // SAFETY: this many are committed, and an empty stack needs no contents.
            let _ = unsafe { self.memory.shrink(KEEP, self.committed) };
        }
    }
}

/// A part of a large object that is still to be scanned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The next word to scan.
    pub(super) next: usize,
    /// One past the last word.
    pub(super) end: usize,
    /// The number of its shape, for the mask; 0 if any word may be a pointer.
    pub(super) shape: u32,
    /// All its pages count as written: the marker does not ask the kernel again.
    pub(super) dense: bool,
}

// SAFETY: all-zero bytes are an empty range; it holds plain numbers.
unsafe impl Zeroed for Range {}

/// The stacks of one marker.
pub(crate) struct MarkStacks {
    pub(super) edges: Bounded<usize>,
    pub(super) ranges: Bounded<Range>,
    /// Calls of trace functions that wait until one has returned; lent while one runs.
    put_off: Option<PutOff>,
    kernel: KernelRef,
}

impl MarkStacks {
    /// Stacks for `edges` edges.
    pub(crate) fn new(kernel: KernelRef, edges: usize) -> Result<Self, OsError> {
        Ok(MarkStacks {
            edges: Bounded::new(kernel, edges)?,
            ranges: Bounded::new(kernel, RANGES.min(edges.max(1)))?,
            put_off: None,
            kernel,
        })
    }

    /// Stacks for N edges, or of the usual size for a reservation of N bytes.
    pub(crate) fn sized(
        kernel: KernelRef,
        edges: Option<usize>,
        reservation: usize,
    ) -> Result<Self, OsError> {
        edges.map_or_else(|| Self::usual(kernel, reservation), |edges| Self::new(kernel, edges))
    }

    /// Stacks of the usual size for a reservation of N bytes, or smaller ones where the kernel grants less address
    /// space.
    fn usual(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let mut edges = (reservation / RESERVATION_BYTES_AN_EDGE).clamp(LEAST_EDGES, USUAL_EDGES);
        loop {
            match Self::new(kernel, edges) {
                Err(_) if edges > LEAST_EDGES => edges /= 4,
                done => return done,
            }
        }
    }

    /// Whether nothing is left to follow or to scan.
    pub(super) fn are_empty(&self) -> bool {
        self.edges.is_empty() && self.ranges.is_empty()
    }

    /// Discards all entries.
    pub(super) fn clear(&mut self) {
        (self.edges.top, self.ranges.top) = (0, 0);
    }

    pub(crate) fn trim(&mut self) {
        self.edges.trim();
        self.ranges.trim();
        self.put_off.iter_mut().for_each(PutOff::trim);
    }

    /// Room for the calls that a trace function puts off.
    pub(super) fn take_put_off(&mut self) -> PutOff {
        self.put_off.take().unwrap_or_else(|| PutOff::new(self.kernel))
    }

    /// Gives it back.
    pub(super) fn return_put_off(&mut self, put_off: PutOff) {
        self.put_off = Some(put_off);
    }
}

impl Mapped for MarkStacks {
    fn for_each_mapping(&self, f: &mut dyn FnMut(core::ops::Range<usize>)) {
        for_each_mapping_of(&[&self.edges.memory, &self.ranges.memory, &self.put_off], f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os_testing::faulty::Faulty;

    #[test]
    fn a_stack_whose_growth_is_refused_is_full_until_it_is_trimmed() {
        static KERNEL: Faulty = Faulty::new();
        let mut s = Bounded::<usize>::new(&KERNEL, 1 << 20).unwrap();
        let first = s.committed;
        assert!((0..first).all(|i| s.push(i)));
        KERNEL.refuse_from(0);
        assert!(!s.push(first));
        let asked = KERNEL.requests();
        s.reserve(64);
        assert!(!s.push(first));
        assert_eq!(KERNEL.requests(), asked, "it does not ask at each push");
        KERNEL.relent();
        assert!((0..first).rev().all(|i| s.pop() == Some(i)));
        s.trim();
        assert!((0..=first).all(|i| s.push(i)));
        assert_eq!(s.committed, 2 * first);
    }
}
