//! The table of links: an entry for each slot, found by the slot, and on a list by its kind and by whether it is young. The index
//! is split a bucket at a time (linear hashing: Litwin, VLDB 1980), so that no registration pays for all. Invariants: an entry is
//! free, or on one list and in the index; passes of a collection move entries by their links, and need no memory.

use crate::error::Refusal;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError, for_each_mapping_of};

/// Entries and buckets are committed in steps of so many.
const STEP: usize = 1 << 10;
const NONE: u32 = 0;

/// When a link is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// Before finalisers revive what they are for.
    Short,
    /// When the object is gone.
    Long,
}

/// A slot that refers to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) slot: usize,
    pub(crate) object: usize,
    pub(crate) kind: LinkKind,
    /// The object, or the one in which the slot lies, may be young.
    pub(crate) is_young: bool,
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    /// The object is dead, and the slot was cleared.
    Cleared,
    /// The slot is gone.
    Dropped,
    /// It is asked for once more ([`Table::settle_waiting`]).
    Waits,
}

/// Which entries a collection looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    Young,
    All,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    /// 0 if the entry is free, or was removed and is still on its list.
    slot: usize,
    object: usize,
    /// The next on its list.
    next: u32,
    /// The next in its bucket.
    chain: u32,
    list: u32,
    unused: u32,
}

// SAFETY: all-zero bytes are a free entry of plain numbers.
unsafe impl Zeroed for Entry {}

/// The links of one heap.
pub(super) struct Table {
    entries: MappedArray<Entry>,
    /// Entries that were ever used; the first stands for none.
    used: usize,
    committed: usize,
    free: u32,
    /// By kind and age.
    lists: [u32; 4],
    /// Those that wait for the end of a collection.
    waiting: u32,
    heads: MappedArray<u32>,
    buckets: usize,
    heads_committed: usize,
    count: usize,
}

fn list_of(kind: LinkKind, is_young: bool) -> u32 {
    2 * u32::from(kind == LinkKind::Long) + u32::from(is_young)
}

impl Table {
    /// A table for at most so many entries. Nothing of it is committed.
    pub(super) fn new(kernel: KernelRef, most: usize) -> Result<Self, OsError> {
        let most = most.max(STEP);
        Ok(Table {
            entries: MappedArray::new(kernel, most)?,
            used: 1,
            committed: 0,
            free: NONE,
            lists: [NONE; 4],
            waiting: NONE,
            heads: MappedArray::new(kernel, most)?,
            buckets: 0,
            heads_committed: 0,
            count: 0,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn entry(&mut self, number: u32) -> &mut Entry {
        debug_assert!((number as usize) < self.used);
        // SAFETY: entries in use are committed, and the borrow is exclusive.
        unsafe { &mut *self.entries.at(number as usize) }
    }

    fn head(&mut self, bucket: usize) -> &mut u32 {
        debug_assert!(bucket < self.buckets);
        // SAFETY: buckets in use are committed, and the borrow is exclusive.
        unsafe { &mut *self.heads.at(bucket) }
    }

    /// The bucket of a slot: by as many bits of its hash as there are buckets, or by one less where that one has not been split.
    fn bucket(&self, slot: usize) -> usize {
        // Slots of one structure lie together, and so do their buckets.
        let (block, within) = (slot as u64 >> 9, slot >> 3 & 63);
        let hash = (block.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize ^ within;
        let half = 1 << self.buckets.ilog2();
        let bucket = hash % (2 * half);
        if bucket < self.buckets { bucket } else { bucket % half }
    }

    fn number_of(&mut self, slot: usize) -> u32 {
        if self.buckets == 0 {
            return NONE;
        }
        let bucket = self.bucket(slot);
        let mut at = *self.head(bucket);
        while at != NONE && self.entry(at).slot != slot {
            at = self.entry(at).chain;
        }
        at
    }

    pub(super) fn find(&mut self, slot: usize) -> Option<Link> {
        let number = self.number_of(slot);
        (number != NONE).then(|| self.link(number))
    }

    /// See [`super::Links::slot_of`].
    pub(super) fn slot_of(&mut self, object: Range<usize>) -> Option<usize> {
        (1..self.used as u32)
            .map(|number| *self.entry(number))
            .find(|entry| entry.slot != 0 && (entry.object == object.start || object.contains(&entry.slot)))
            .map(|entry| entry.slot)
    }

    fn link(&mut self, number: u32) -> Link {
        let Entry { slot, object, list, .. } = *self.entry(number);
        let kind = if list >= 2 { LinkKind::Long } else { LinkKind::Short };
        Link { slot, object, kind, is_young: list % 2 == 1 }
    }

    pub(super) fn add(&mut self, link: Link) -> Result<(), Refusal> {
        self.make_room()?;
        self.remove(link.slot);
        let number = match self.free {
            NONE => {
                self.used += 1;
                (self.used - 1) as u32
            }
            free => {
                self.free = self.entry(free).next;
                free
            }
        };
        let list = list_of(link.kind, link.is_young);
        let next = core::mem::replace(&mut self.lists[list as usize], number);
        *self.entry(number) =
            Entry { slot: link.slot, object: link.object, next, chain: NONE, list, unused: 0 };
        self.put(number);
        self.count += 1;
        self.split();
        Ok(())
    }

    /// Commits what one more entry, and one more bucket, need.
    fn make_room(&mut self) -> Result<(), Refusal> {
        if self.free == NONE && self.used >= self.committed {
            let end = (self.committed + STEP).min(self.entries.len());
            if end == self.committed {
                return Err(Refusal::ManyLinks { most: self.entries.len() - 1 });
            }
            self.entries.commit(self.committed..end)?;
            self.committed = end;
        }
        if self.buckets == self.heads_committed {
            let end = (self.heads_committed + STEP).min(self.heads.len());
            self.heads.commit(self.heads_committed..end)?;
            self.heads_committed = end;
        }
        if self.buckets == 0 {
            self.buckets = STEP;
        }
        Ok(())
    }

    fn put(&mut self, number: u32) {
        let slot = self.entry(number).slot;
        let bucket = self.bucket(slot);
        let head = core::mem::replace(self.head(bucket), number);
        self.entry(number).chain = head;
    }

    /// Splits one bucket if there are more entries than buckets.
    fn split(&mut self) {
        if self.count <= self.buckets || self.buckets == self.heads_committed {
            return;
        }
        let half = 1 << self.buckets.ilog2();
        let mut moved = core::mem::take(self.head(self.buckets - half));
        self.buckets += 1;
        while moved != NONE {
            let next = self.entry(moved).chain;
            self.put(moved);
            moved = next;
        }
    }

    /// Takes an entry out of the index. It stays on its list until a collection looks at that.
    fn take_out(&mut self, number: u32) {
        let Entry { slot, chain, .. } = *self.entry(number);
        let bucket = self.bucket(slot);
        let mut at = *self.head(bucket);
        if at == number {
            *self.head(bucket) = chain;
        } else {
            while self.entry(at).chain != number {
                at = self.entry(at).chain;
            }
            self.entry(at).chain = chain;
        }
        self.entry(number).slot = 0;
        self.count -= 1;
    }

    /// Removes the entry of a slot; whether there was one.
    pub(super) fn remove(&mut self, slot: usize) -> bool {
        let number = self.number_of(slot);
        if number != NONE {
            self.take_out(number);
        }
        number != NONE
    }

    /// See [`super::Links::settle`].
    pub(super) fn settle(
        &mut self,
        kind: LinkKind,
        lists: Lists,
        fate: impl FnMut(Link) -> Fate,
    ) -> (usize, usize) {
        let (old, young) = (list_of(kind, false), list_of(kind, true));
        let mut first = [core::mem::take(&mut self.lists[young as usize]), NONE];
        if lists == Lists::All {
            first[1] = core::mem::take(&mut self.lists[old as usize]);
        }
        self.settle_lists(first, fate)
    }

    /// See [`super::Links::settle_waiting`].
    pub(super) fn settle_waiting(&mut self, fate: impl FnMut(Link) -> Fate) -> (usize, usize) {
        let waiting = core::mem::take(&mut self.waiting);
        self.settle_lists([waiting, NONE], fate)
    }

    fn settle_lists(&mut self, first: [u32; 2], mut fate: impl FnMut(Link) -> Fate) -> (usize, usize) {
        let (mut looked, mut cleared) = (0, 0);
        for mut at in first {
            while at != NONE {
                let number = at;
                at = self.entry(number).next;
                looked += 1;
                let is_removed = self.entry(number).slot == 0;
                let fate = if is_removed { Fate::Dropped } else { fate(self.link(number)) };
                if matches!(fate, Fate::Stays | Fate::Waits) {
                    // The list of old ones of its kind.
                    let list = self.entry(number).list & !1;
                    let head = match fate {
                        Fate::Waits => &mut self.waiting,
                        _ => &mut self.lists[list as usize],
                    };
                    let next = core::mem::replace(head, number);
                    let entry = self.entry(number);
                    (entry.next, entry.list) = (next, list);
                    continue;
                }
                if !is_removed {
                    self.take_out(number);
                }
                let free = core::mem::replace(&mut self.free, number);
                self.entry(number).next = free;
                cleared += usize::from(fate == Fate::Cleared);
            }
        }
        (looked, cleared)
    }
}

impl Mapped for Table {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.entries, &self.heads], f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;
    use heapwood_os_testing::faulty::Faulty;

    #[test]
    fn a_full_table_and_a_kernel_that_refuses_are_errors_and_no_loss() {
        let link = |slot| Link { slot, object: 16, kind: LinkKind::Short, is_young: false };
        let mut small = Table::new(&SYSTEM, 0).unwrap();
        (1..STEP).for_each(|i| small.add(link(8 * i)).unwrap());
        assert_eq!(small.add(link(8 * STEP)), Err(Refusal::ManyLinks { most: STEP - 1 }));
        assert_eq!((small.count(), small.find(8)), (STEP - 1, Some(link(8))));
        // What was removed is free after the next collection.
        assert!(small.remove(8) && small.add(link(8)).is_err());
        assert_eq!(small.settle(LinkKind::Short, Lists::All, |_| Fate::Stays), (STEP - 1, 0));
        small.add(link(8)).unwrap();

        static KERNEL: Faulty = Faulty::new();
        let mut table = Table::new(&KERNEL, 1 << 16).unwrap();
        for refused in 0..2 {
            KERNEL.refuse(refused);
            assert!(matches!(table.add(link(8)), Err(Refusal::Kernel(_))));
            assert_eq!((table.count(), table.find(8)), (0, None));
        }
        table.add(link(8)).unwrap();
    }
}
