//! Parts of libraries' data that are no roots, though the rest is: a client's tables of pointers that it follows itself. Invariant: the
//! ranges are in order, and neither overlap nor touch.

use crate::error::Refusal;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The most ranges.
const MOST: usize = 1 << 12;

#[derive(Clone, Copy)]
#[repr(C)]
struct Part {
    start: usize,
    end: usize,
}

// SAFETY: plain numbers, valid with any value.
unsafe impl Zeroed for Part {}

/// The ranges.
pub(super) struct Excluded {
    parts: MappedArray<Part>,
    len: usize,
}

impl Excluded {
    /// None.
    pub(super) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let parts = MappedArray::new(kernel, MOST)?;
        parts.commit(0..MOST)?;
        Ok(Excluded { parts, len: 0 })
    }

    fn parts(&self) -> &[Part] {
        // SAFETY: all are committed, and none is written while this is borrowed.
        unsafe { core::slice::from_raw_parts(self.parts.as_ptr(), self.len) }
    }

    /// Adds a range.
    pub(super) fn add(&mut self, mut range: Range<usize>) -> Result<(), Refusal> {
        if range.is_empty() {
            return Ok(());
        }
        let first = self.parts().partition_point(|part| part.end < range.start);
        let after = self.parts().partition_point(|part| part.start <= range.end);
        if first == after && self.len == MOST {
            return Err(Refusal::ManyExcluded { most: MOST });
        }
        if first < after {
            let (low, high) = (self.parts()[first], self.parts()[after - 1]);
            range = range.start.min(low.start)..range.end.max(high.end);
        }
        // SAFETY: all are committed, and the borrow is exclusive; there is room for one more, if none is replaced.
        unsafe {
            self.parts.as_ptr().add(after).copy_to(self.parts.as_ptr().add(first + 1), self.len - after);
            self.parts.at(first).write(Part { start: range.start, end: range.end });
        }
        self.len = self.len + first + 1 - after;
        Ok(())
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Calls `f` with each part of a range that is not excluded.
    pub(super) fn for_each_rest(&self, range: Range<usize>, mut f: impl FnMut(Range<usize>)) {
        let first = self.parts().partition_point(|part| part.end <= range.start);
        let mut at = range.start;
        for part in self.parts()[first..].iter().take_while(|part| part.start < range.end) {
            if at < part.start {
                f(at..part.start);
            }
            at = part.end;
        }
        if at < range.end {
            f(at..range.end);
        }
    }
}

impl Mapped for Excluded {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.parts.for_each_mapping(f);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Against a set of numbers, in every order that random ranges come.
    #[test]
    fn what_is_left_is_what_no_range_has() {
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below) as usize
        };
        let mut excluded = Excluded::new(&heapwood_os::SYSTEM).unwrap();
        for _ in 0..300 {
            let mut left = [true; 200];
            excluded.clear();
            for _ in 0..next(12) {
                let start = next(200);
                let end = (start + next(30)).min(200);
                excluded.add(start..end).unwrap();
                left[start..end].fill(false);
                assert!(excluded.parts().windows(2).all(|two| two[0].end < two[1].start));
            }
            let range = next(100)..100 + next(100);
            let mut seen = [false; 200];
            excluded.for_each_rest(range.clone(), |rest| {
                assert!(!rest.is_empty());
                rest.for_each(|i| assert!(!core::mem::replace(&mut seen[i], true)));
            });
            for i in 0..200 {
                assert_eq!(seen[i], left[i] && range.contains(&i), "{i}");
            }
        }
    }

    #[test]
    fn too_many_are_refused_with_a_sentence() {
        let mut excluded = Excluded::new(&heapwood_os::SYSTEM).unwrap();
        (0..MOST).for_each(|i| excluded.add(i * 4..i * 4 + 1).unwrap());
        let refused = excluded.add(MOST * 4..MOST * 4 + 1).unwrap_err();
        assert!(refused.to_string().starts_with("4096 ranges"), "{refused}");
        // One that joins others takes no room.
        excluded.add(1..4).unwrap();
        excluded.add(MOST * 4..MOST * 4 + 1).unwrap();
    }
}
