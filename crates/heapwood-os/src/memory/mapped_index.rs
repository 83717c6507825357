//! A hash index in mapped memory: open addressing with linear probing (Knuth 6.4, algorithm L), for tables without
//! removal. The index doubles by placing the next one after the last, so memory is committed on demand. Invariant: at
//! most half of the slots are taken, so a search ends at an empty one; each number lies in the run of taken slots that
//! begins at its hash's slot.

use crate::memory::mapped::Mapped;
use crate::{KernelRef, MappedArray, OsError};
use core::ops::Range;

/// The slots of the smallest index: one kernel page.
const FIRST: usize = 1024;
/// An odd multiplier: the digits of the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// Finds numbers by hash. The owner knows what they stand for, and compares.
pub struct MappedIndex {
    /// The index of `n` slots begins at slot `n`. 0 marks an empty slot.
    slots: MappedArray<u32>,
    /// The number of slots, a power of two; 0 before the first insertion.
    len: usize,
    used: usize,
}

/// A hash of a few words.
pub fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(MIX, |hash, word| {
        let product = u128::from(hash ^ word ^ MIX.rotate_left(31)) * u128::from(MIX);
        (product >> 64) as u64 ^ (product as u64).rotate_left(23)
    })
}

impl MappedIndex {
    /// An index that can hold `most` numbers. Nothing is committed yet.
    pub fn new(kernel: KernelRef, most: usize) -> Result<Self, OsError> {
        let longest = (most * 2).next_power_of_two().max(FIRST);
        Ok(MappedIndex { slots: MappedArray::new(kernel, 2 * longest)?, len: 0, used: 0 })
    }

    /// The number with this hash for which `is` returns true.
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.first(hash);
        loop {
            // SAFETY: the slots of the current index are committed.
            match unsafe { self.slots.at(self.len + at).read() } {
                0 => return None,
                number if is(number) => return Some(number),
                _ => at = (at + 1) % self.len,
            }
        }
    }

    /// Makes room for one more number. `hash_of` returns the hash of a number in the index.
    ///
    /// # Errors
    /// The kernel has no memory, or the index is at its maximum. It is unchanged then.
    pub fn reserve(&mut self, hash_of: impl Fn(u32) -> u64) -> Result<(), OsError> {
        if (self.used + 1) * 2 <= self.len {
            return Ok(());
        }
        let (old, new) = (self.len, (self.len * 2).max(FIRST));
        if 2 * new > self.slots.len() {
            return Err(OsError::new(crate::Request::Commit, new * 4, libc::ENOMEM));
        }
        self.slots.commit(new..2 * new)?;
        self.len = new;
        for slot in old..2 * old {
            // SAFETY: the slots of the old index are committed.
            let number = unsafe { self.slots.at(slot).read() };
            if number != 0 {
                self.put(hash_of(number), number);
            }
        }
        Ok(())
    }

    /// Adds a number other than 0 that is not in the index, after [`reserve`](Self::reserve).
    pub fn insert(&mut self, hash: u64, number: u32) {
        assert!(number != 0 && (self.used + 1) * 2 <= self.len, "an index without room for {number}");
        self.used += 1;
        self.put(hash, number);
    }

    fn put(&mut self, hash: u64, number: u32) {
        let mut at = self.first(hash);
        loop {
            let slot = self.slots.at(self.len + at);
            // SAFETY: the slots of the current index are committed, and the borrow is exclusive.
            unsafe {
                if slot.read() == 0 {
                    return slot.write(number);
                }
            }
            at = (at + 1) % self.len;
        }
    }

    /// The first slot of a hash: its highest bits.
    fn first(&self, hash: u64) -> usize {
        (hash >> (64 - self.len.ilog2())) as usize
    }
}

impl Mapped for MappedIndex {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.slots.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SYSTEM;

    #[test]
    fn numbers_are_found_until_the_last() {
        for hash in [|_: u32| u64::MAX, |number: u32| hash([u64::from(number) * 16])] {
            let mut index = MappedIndex::new(&SYSTEM, 600).unwrap();
            let mut added = 0;
            while index.reserve(hash).is_ok() {
                added += 1;
                index.insert(hash(added), added);
            }
            assert!(added >= 600);
            assert!((1..=added).all(|number| index.find(hash(number), |n| n == number) == Some(number)));
            assert_eq!((index.find(u64::MAX, |_| false), index.find(0, |_| false)), (None, None));
        }
    }
}
