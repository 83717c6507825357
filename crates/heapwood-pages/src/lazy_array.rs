//! Arrays that are reserved at full length and committed in granules. Every access checks the array's bitmap of
//! committed granules, so memory without access rights is never touched. All unsafe code of the crate is in this file
//! and in `index.rs`. To reserve the tables whole and map them as the heap grows is from the Go page allocator
//! proposal.

use crate::chunk::Chunk;
use crate::geometry::Geometry;
use crate::summary::Summary;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, LEAST_KERNEL_PAGE, Mapped, MappedArray, OsError};

// SAFETY: the zero word is the summary of a full region; a word needs no drop.
unsafe impl Zeroed for Summary {}
// SAFETY: a chunk is two arrays of words (Words is sealed), for which the same holds.
unsafe impl<G: Geometry> Zeroed for Chunk<G> {}

/// The most granules of an array: few enough to keep their bits beside the array.
const GRANULES: usize = 512;

/// An array whose committed granules alone exist. A granule is at least a smallest kernel page; a larger kernel page
/// is committed with its first granule.
///
/// Invariant: where a granule's bit is set, all its elements lie inside the array and are committed.
pub(crate) struct LazyArray<T> {
    array: Option<MappedArray<T>>,
    /// The requested number of elements; granules round the array up.
    len: usize,
    log_granule: u32,
    committed: [u64; GRANULES / 64],
}

impl<T: Zeroed> LazyArray<T> {
    /// An array without elements, which reserves nothing.
    pub(crate) const NONE: Self =
        LazyArray { array: None, len: 0, log_granule: usize::BITS - 1, committed: [0; GRANULES / 64] };

    /// Reserves at least `len` elements; none is committed yet.
    pub(crate) fn new(kernel: KernelRef, len: usize) -> Result<Self, OsError> {
        const { assert!(size_of::<T>().is_power_of_two() && size_of::<T>() <= LEAST_KERNEL_PAGE) };
        let granule =
            (len.div_ceil(GRANULES)).next_power_of_two().max(const { LEAST_KERNEL_PAGE / size_of::<T>() });
        let array = MappedArray::new(kernel, len.next_multiple_of(granule))?;
        Ok(LazyArray { array: Some(array), len, log_granule: granule.ilog2(), committed: [0; GRANULES / 64] })
    }

    /// Commits the elements `range`, which are zero. If the kernel refuses, some of them may be committed.
    pub(crate) fn commit(&mut self, range: Range<usize>) -> Result<(), OsError> {
        self.commit_with(range, |_, _| {})
    }

    /// The same; calls `fill` with the new elements.
    fn commit_with(
        &mut self,
        range: Range<usize>,
        fill: impl Fn(&MappedArray<T>, Range<usize>),
    ) -> Result<(), OsError> {
        let Some(array) = &self.array else { return Ok(()) };
        assert!(range.start < range.end && range.end <= self.len);
        let mut granule = range.start >> self.log_granule;
        let end = ((range.end - 1) >> self.log_granule) + 1;
        while granule < end {
            // One request for each sequence of missing granules.
            let missing = (granule..end).take_while(|&g| !self.is_committed(g)).count();
            if missing > 0 {
                let elements = granule << self.log_granule..(granule + missing) << self.log_granule;
                array.commit(elements.clone())?;
                fill(array, elements);
                for g in granule..granule + missing {
                    self.committed[g / 64] |= 1 << (g % 64);
                }
            }
            granule += missing.max(1);
        }
        Ok(())
    }

    #[inline(always)]
    fn is_committed(&self, granule: usize) -> bool {
        match self.committed.get(granule / 64) {
            Some(bits) => bits >> (granule % 64) & 1 == 1,
            None => false,
        }
    }

    /// The address of a committed element.
    #[inline(always)]
    fn at(&self, index: usize) -> Option<*mut T> {
        if !self.is_committed(index >> self.log_granule) {
            return None;
        }
        self.array.as_ref().map(|array| array.at(index))
    }

    /// The element, if it is committed.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: `at` returns committed elements only, which hold a value (Zeroed, or what was written); the borrow
        // of the array keeps it mapped and unwritten.
        self.at(index).map(|p| unsafe { &*p })
    }

    /// The element, if it is committed, for writing.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: as for get, and the borrow of the array is exclusive.
        self.at(index).map(|p| unsafe { &mut *p })
    }

    /// The `len` elements from `first` on, or none if they do not all lie in one committed granule.
    #[inline(always)]
    pub(crate) fn block(&self, first: usize, len: usize) -> &[T] {
        let last = first.wrapping_add(len).wrapping_sub(1);
        match self.at(first) {
            // SAFETY: first and last share a committed granule, so all between are committed; then as for get.
            Some(p) if last >= first && last >> self.log_granule == first >> self.log_granule => unsafe {
                core::slice::from_raw_parts(p, len)
            },
            _ => &[],
        }
    }

    /// The first committed index from `index` on, or `usize::MAX`.
    pub(crate) fn next_existing(&self, index: usize) -> usize {
        let granule = index >> self.log_granule;
        match (granule..GRANULES).find(|&g| self.is_committed(g)) {
            Some(g) => index.max(g << self.log_granule),
            None => usize::MAX,
        }
    }

    /// The indexes of all committed elements below `len`.
    pub(crate) fn existing(&self) -> impl Iterator<Item = usize> {
        (0..GRANULES)
            .filter(|&g| self.is_committed(g))
            .flat_map(|g| g << self.log_granule..((g + 1) << self.log_granule).min(self.len))
    }
}

impl<T: Zeroed + Copy> LazyArray<T> {
    /// Commits the elements `range`; new ones get the value.
    pub(crate) fn commit_filled(&mut self, range: Range<usize>, value: T) -> Result<(), OsError> {
        self.commit_with(range, |array, new| {
            for index in new {
                // SAFETY: the element was committed just now, and no other thread has seen it.
                unsafe { array.at(index).write(value) };
            }
        })
    }

    /// Overwrites the committed elements of `range`.
    pub(crate) fn fill(&mut self, range: Range<usize>, value: T) {
        for index in range {
            if let Some(element) = self.get_mut(index) {
                *element = value;
            }
        }
    }
}

impl<T> Mapped for LazyArray<T> {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.array.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;

    #[test]
    fn only_committed_elements_exist() {
        let mut a = LazyArray::<u64>::new(&SYSTEM, 10_000).unwrap();
        assert!(a.get(0).is_none() && a.block(0, 8).is_empty());
        a.commit(5_000..5_001).unwrap();
        // A kernel page has 512 words.
        assert_eq!((a.existing().next(), a.existing().count()), (Some(4_608), 512));
        assert_eq!(a.block(5_000, 2), [0, 0]);
        assert!(a.block(5_119, 2).is_empty() && a.block(5_000, usize::MAX).is_empty());
        for none in [4_607, 5_120, 10_000, 1 << 20, usize::MAX] {
            assert!(a.get(none).is_none() && a.block(none, 1).is_empty(), "{none}");
        }
    }
}
