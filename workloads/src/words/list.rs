//! Lists of pairs: a link and an odd number. One lies in order, and its links have tags, as Lisps have; the other is shuffled.

use super::object::{Walked, Words, address, at};
use crate::order::shuffled;
use heapwood::{Gc, GcCell, Mutator, Root, Slice, Trace, TypeMap};

/// Links have tags from 1 to this.
const TAGS: usize = 7;

pub(super) type Tagged = Words<2>;

/// A pair whose link is set later.
#[repr(C)]
pub(super) struct Pair {
    link: GcCell<Option<Gc<Pair>>>,
    number: usize,
}

// SAFETY: 1. The map is conservative. 2. No bit is set. 3. The words lie in the object. 4. They need no drop. 5. The link is a cell.
unsafe impl Trace for Pair {
    const MAP: TypeMap = TypeMap::CONSERVATIVE;
}

/// The tag of links to the pair with this number.
fn tag(number: usize) -> usize {
    1 + number / 2 % TAGS
}

/// A list of `n` pairs in order, from the number 2 `n` - 1 to 1.
#[inline(never)]
pub(super) fn build_tagged(m: &Mutator, n: usize) -> Root<Tagged> {
    let mut first = m.alloc(Words([0, 1]));
    for i in 1..n {
        let number = 2 * i + 1;
        first = m.alloc(Words([address(first) + tag(number - 2), number]));
    }
    m.root(first)
}

pub(super) fn walk_tagged(first: &Tagged) -> Walked {
    let (mut walked, mut next) = (Walked::default(), Some(first));
    while let Some(Words([link, number])) = next {
        walked.add(*number);
        let untagged = if *link == 0 { 0 } else { link - tag(number - 2) };
        // SAFETY: a link is the address of the next pair and its tag, and the root keeps all pairs.
        next = unsafe { at(untagged) };
    }
    walked
}

/// A list of `n` pairs that lie in no order. In its own frame, so that no pointer to the table is left on the stack.
#[inline(never)]
pub(super) fn build_shuffled(m: &Mutator, n: usize) -> Root<Pair> {
    let table: Gc<Slice<GcCell<Option<Gc<Pair>>>>> = m.alloc_slice(n, |_| GcCell::new(None));
    for (i, slot) in table.iter().enumerate() {
        slot.set(m, Some(m.alloc(Pair { link: GcCell::new(None), number: 2 * i + 1 })));
    }
    let order = shuffled(n);
    let pair = |i: u32| table[i as usize].get().expect("every slot has its pair");
    for (&from, &to) in order.iter().zip(&order[1..]) {
        pair(from).link.set(m, Some(pair(to)));
    }
    m.root(pair(order[0]))
}

pub(super) fn walk(first: &Pair) -> Walked {
    let mut walked = Walked::default();
    walked.add(first.number);
    let mut next = first.link.get();
    while let Some(pair) = next {
        walked.add(pair.number);
        next = pair.link.get();
    }
    walked
}
