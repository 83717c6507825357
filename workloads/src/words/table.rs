//! A hash table with chains, each word of which may be a pointer: of three objects one is an entry (hash, key, value, next entry),
//! one its key, without pointers, and one its value, a pair.

use super::object::{Walked, Words, address, at};
use crate::random::Random;
use heapwood::{Gc, GcCell, Mutator, Root, Slice, Trace, TypeMap};

type Entry = Words<4>;
type Value = Words<2>;

/// A bucket: a word like the others.
#[repr(transparent)]
pub(super) struct Bucket(GcCell<Option<Gc<Entry>>>);

// SAFETY: 1. The map is conservative. 2. No bit is set. 3. The word lies in the bucket. 4. It needs no drop. 5. It is a cell.
unsafe impl Trace for Bucket {
    const MAP: TypeMap = TypeMap::CONSERVATIVE;
}

/// A table of `n` objects, in as many buckets as there are entries; at least one entry.
#[inline(never)]
pub(super) fn build(m: &Mutator, n: usize) -> Root<Slice<Bucket>> {
    let (entries, mut random) = ((n / 3).max(1), Random::new());
    let buckets = m.root(m.alloc_slice(entries, |_| Bucket(GcCell::new(None))));
    for i in 0..entries {
        let hash = random.next_u64() as usize >> 20;
        let bucket = &buckets.get(m)[hash % entries].0;
        let key = m.alloc([hash as u64, 0, 0]);
        let value = m.alloc(Words([2 * i + 1, 0]));
        let next = bucket.get().map_or(0, address);
        bucket.set(m, Some(m.alloc(Words([hash, address(key), address(value), next]))));
    }
    buckets
}

pub(super) fn walk(buckets: &Slice<Bucket>) -> Walked {
    let mut walked = Walked::default();
    for bucket in buckets.iter() {
        let first = bucket.0.get();
        let mut next = first.as_deref();
        while let Some(Words([hash, key, value, link])) = next {
            // SAFETY: the words of an entry are addresses of a key, a value and an entry, or zero; the root keeps all.
            let (key, value) = unsafe { (at::<[u64; 3]>(*key), at::<Value>(*value)) };
            let (key, value) = (key.expect("it has a key"), value.expect("it has a value"));
            walked.add(*hash);
            walked.add(key[0] as usize);
            walked.add(value.0[0]);
            // SAFETY: as above.
            next = unsafe { at(*link) };
        }
    }
    walked
}
