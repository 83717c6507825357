//! Numbers found by the hash of what they name: open addressing with linear probing over mapped memory (Knuth 6.4,
//! algorithm L), for tables that are registered into and never removed from. Invariant: at most half of the places are
//! taken, so a search ends at an empty one; each number stands in the run of taken places that begins where its hash
//! says. The index doubles by laying the next one behind the last, so memory is committed as it is needed.

use crate::{KernelRef, MappedArray, OsError};

/// The places of the smallest index: a kernel page of them.
const FIRST: usize = 1024;
/// An odd number without structure: the digits of the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// Finds numbers by hash. The owner knows what they name, and compares.
pub struct MappedIndex {
    /// The index of `n` places lies from place `n` on: 0 is an empty one, else a number.
    places: MappedArray<u32>,
    /// A power of two; 0 before anything was added.
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
        Ok(MappedIndex { places: MappedArray::new(kernel, 2 * longest)?, len: 0, used: 0 })
    }

    /// The number with this hash that `is` the one.
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.first(hash);
        loop {
            // SAFETY: the places of the index in use are committed.
            match unsafe { self.places.at(self.len + at).read() } {
                0 => return None,
                number if is(number) => return Some(number),
                _ => at = (at + 1) % self.len,
            }
        }
    }

    /// Makes room for one more number. `hash_of` is asked for the hashes of those that are in it.
    ///
    /// # Errors
    /// The kernel gives no memory, or as many as can be are in it. The index is as before then.
    pub fn reserve(&mut self, hash_of: impl Fn(u32) -> u64) -> Result<(), OsError> {
        if (self.used + 1) * 2 <= self.len {
            return Ok(());
        }
        let (old, new) = (self.len, (self.len * 2).max(FIRST));
        if 2 * new > self.places.len() {
            return Err(OsError::new(crate::Request::Commit, new * 4, libc::ENOMEM));
        }
        self.places.commit(new..2 * new)?;
        self.len = new;
        for place in old..2 * old {
            // SAFETY: the places of the old index are committed.
            let number = unsafe { self.places.at(place).read() };
            if number != 0 {
                self.put(hash_of(number), number);
            }
        }
        Ok(())
    }

    /// Adds a number, which is not 0 and not in it. [`reserve`](Self::reserve) made room for it.
    pub fn insert(&mut self, hash: u64, number: u32) {
        assert!(number != 0 && (self.used + 1) * 2 <= self.len, "an index without room for {number}");
        self.used += 1;
        self.put(hash, number);
    }

    fn put(&mut self, hash: u64, number: u32) {
        let mut at = self.first(hash);
        loop {
            let place = self.places.at(self.len + at);
            // SAFETY: the places of the index in use are committed, and the borrow is exclusive.
            unsafe {
                if place.read() == 0 {
                    return place.write(number);
                }
            }
            at = (at + 1) % self.len;
        }
    }

    /// Where the search for a hash begins: its highest bits say.
    fn first(&self, hash: u64) -> usize {
        (hash >> (64 - self.len.ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SYSTEM;
    use core::cell::Cell;

    #[test]
    fn what_was_added_is_found_in_a_few_steps() {
        let most = 200_000u32;
        let mut index = MappedIndex::new(&SYSTEM, most as usize).unwrap();
        let hash_of = |number: u32| hash([u64::from(number) * 16]);
        for number in 1..=most {
            assert_eq!(index.find(hash_of(number), |n| n == number), None);
            index.reserve(hash_of).unwrap();
            index.insert(hash_of(number), number);
        }
        let steps = Cell::new(0u64);
        for number in 1..=most {
            let found = index.find(hash_of(number), |n| {
                steps.set(steps.get() + 1);
                n == number
            });
            assert_eq!(found, Some(number));
        }
        assert!(steps.get() < 3 * u64::from(most), "{} comparisons", steps.get());
    }

    #[test]
    fn equal_hashes_are_told_apart_until_the_last_number() {
        let mut index = MappedIndex::new(&SYSTEM, 600).unwrap();
        let mut added = 0;
        while index.reserve(|_| u64::MAX).is_ok() {
            added += 1;
            index.insert(u64::MAX, added);
        }
        assert!(added >= 600);
        assert!((1..=added).all(|number| index.find(u64::MAX, |n| n == number) == Some(number)));
        assert_eq!(index.find(u64::MAX, |_| false), None);
        assert_eq!(index.find(0, |_| false), None);
    }

    #[test]
    fn a_kernel_that_refuses_leaves_the_index_as_it_was() {
        static KERNEL: crate::testing::faulty::Faulty = crate::testing::faulty::Faulty::new();
        let mut index = MappedIndex::new(&KERNEL, 10_000).unwrap();
        KERNEL.refuse(0);
        assert!(index.reserve(|_| 0).is_err() && index.find(7, |_| true).is_none());
        index.reserve(|_| 0).unwrap();
        index.insert(7, 1);
        assert_eq!(index.find(7, |_| true), Some(1));
    }
}
