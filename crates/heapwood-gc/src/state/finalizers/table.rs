//! The table of finalisers: an entry for each registration, found by its number or by its object. Entries of objects that
//! were young when they were registered are on a list of their own until the next collection has looked at them; those that
//! wait for the program are on the queue. An index by object is split a bucket at a time (linear hashing: Litwin, VLDB
//! 1980), so that no registration pays for all. Invariants: an entry is on one list, on the queue, free, or of an old
//! object; the index has those of live objects, and no others. Passes of a collection move entries by their links, and need
//! no memory.

use crate::state::object_hash::object_hash;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// Entries and buckets are committed in steps of so many.
const STEP: usize = 1 << 10;
/// Entries whose mark words are on their way while one is looked at.
const AHEAD: usize = 16;

/// No entry.
const NONE: u32 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Stage {
    Free = 0,
    /// Registered, and its object was young: on that list.
    Young = 1,
    /// Registered, and its object is old.
    Old = 2,
    /// Its object is dead: on the queue.
    Queued = 3,
    /// Cancelled, and still on the list of young ones.
    Cancelled = 4,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    object: usize,
    tag: usize,
    /// The next on its list.
    next: u32,
    /// The next in its bucket.
    chain: u32,
    /// Counts the uses of this entry, so that an old number is refused.
    generation: u32,
    stage: Stage,
}

// SAFETY: all-zero bytes are a free entry; it holds plain numbers and a stage that is 0.
unsafe impl Zeroed for Entry {}

/// Why an entry was not cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelError {
    /// Its object is dead: the program takes it off the queue.
    Queued,
    /// There is none.
    NoEntry,
}

/// Why there is no new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddError {
    /// There are as many as there can be.
    Full(usize),
    Kernel(OsError),
}

/// Which entries a collection looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Those of young objects: a young collection says nothing of others.
    Young,
    All,
}

/// The finalisers of one heap.
pub(super) struct Table {
    entries: MappedArray<Entry>,
    /// Entries that were ever used; the first stands for none.
    used: usize,
    committed: usize,
    free: u32,
    young: u32,
    /// The queue, from its first entry to its last.
    first: u32,
    last: u32,
    /// Heads of buckets, and how many are in use: 0 before the first entry.
    heads: MappedArray<u32>,
    buckets: usize,
    heads_committed: usize,
    registered: usize,
    queued: usize,
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
            young: NONE,
            first: NONE,
            last: NONE,
            heads: MappedArray::new(kernel, most)?,
            buckets: 0,
            heads_committed: 0,
            registered: 0,
            queued: 0,
        })
    }

    /// Those that are registered, and those that wait on the queue.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.registered, self.queued)
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

    /// The bucket of an object: by as many bits of its hash as there are buckets, or by one less where that one has not been split.
    fn bucket(&self, object: usize) -> usize {
        let hash = object_hash(object);
        let half = 1 << self.buckets.ilog2();
        let bucket = hash % (2 * half);
        if bucket < self.buckets { bucket } else { bucket % half }
    }

    /// Registers an object; one that `is_old` is not on the list of young ones. Returns the entry's number and generation.
    pub(super) fn add(&mut self, object: usize, tag: usize, is_old: bool) -> Result<(u32, u32), AddError> {
        self.make_room()?;
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
        let stage = if is_old { Stage::Old } else { Stage::Young };
        let next = if is_old { NONE } else { core::mem::replace(&mut self.young, number) };
        let generation = self.entry(number).generation.wrapping_add(1).max(1);
        *self.entry(number) = Entry { object, tag, next, chain: NONE, generation, stage };
        self.put(number);
        self.registered += 1;
        self.split();
        Ok((number, generation))
    }

    /// Commits what one more entry, and one more bucket, need.
    fn make_room(&mut self) -> Result<(), AddError> {
        if self.free == NONE && self.used >= self.committed {
            let end = (self.committed + STEP).min(self.entries.len());
            if end == self.committed {
                return Err(AddError::Full(self.entries.len() - 1));
            }
            self.entries.commit(self.committed..end).map_err(AddError::Kernel)?;
            self.committed = end;
        }
        if self.buckets == self.heads_committed {
            let end = (self.heads_committed + STEP).min(self.heads.len());
            self.heads.commit(self.heads_committed..end).map_err(AddError::Kernel)?;
            self.heads_committed = end;
        }
        if self.buckets == 0 {
            self.buckets = STEP;
        }
        Ok(())
    }

    fn put(&mut self, number: u32) {
        let bucket = self.bucket(self.entry_of(number).object);
        let head = core::mem::replace(self.head(bucket), number);
        self.entry(number).chain = head;
    }

    fn entry_of(&self, number: u32) -> Entry {
        // SAFETY: entries in use are committed.
        unsafe { self.entries.at(number as usize).read() }
    }

    /// Splits one bucket if there are more entries than buckets.
    fn split(&mut self) {
        if self.registered <= self.buckets || self.buckets == self.heads_committed {
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

    /// Takes an entry out of the index.
    fn take_out(&mut self, number: u32) {
        let Entry { object, chain, .. } = self.entry_of(number);
        let bucket = self.bucket(object);
        let mut at = *self.head(bucket);
        if at == number {
            *self.head(bucket) = chain;
        } else {
            while self.entry_of(at).chain != number {
                at = self.entry_of(at).chain;
            }
            self.entry(at).chain = chain;
        }
        self.registered -= 1;
    }

    /// Whether an object has an entry.
    pub(super) fn has(&self, object: usize) -> bool {
        if self.buckets == 0 {
            return false;
        }
        // SAFETY: buckets in use are committed.
        let mut at = unsafe { self.heads.at(self.bucket(object)).read() };
        while at != NONE && self.entry_of(at).object != object {
            at = self.entry_of(at).chain;
        }
        at != NONE
    }

    fn release(&mut self, number: u32) {
        let free = self.free;
        let entry = self.entry(number);
        (entry.stage, entry.next) = (Stage::Free, free);
        self.free = number;
    }

    /// Cancels a registration; returns its tag.
    pub(super) fn cancel(&mut self, (number, generation): (u32, u32)) -> Result<usize, CancelError> {
        if number == NONE || number as usize >= self.used {
            return Err(CancelError::NoEntry);
        }
        let Entry { tag, stage, generation: now, .. } = self.entry_of(number);
        if now != generation {
            return Err(CancelError::NoEntry);
        }
        match stage {
            Stage::Young => {
                self.take_out(number);
                self.entry(number).stage = Stage::Cancelled;
            }
            Stage::Old => {
                self.take_out(number);
                self.release(number);
            }
            Stage::Queued => return Err(CancelError::Queued),
            Stage::Free | Stage::Cancelled => return Err(CancelError::NoEntry),
        }
        Ok(tag)
    }

    /// Takes the tag of the first entry off the queue.
    pub(super) fn next(&mut self) -> Option<usize> {
        let first = self.first;
        if first == NONE {
            return None;
        }
        let Entry { tag, next, .. } = self.entry_of(first);
        self.first = next;
        if next == NONE {
            self.last = NONE;
        }
        self.queued -= 1;
        self.release(first);
        Some(tag)
    }

    fn queue(&mut self, number: u32) {
        self.take_out(number);
        let last = self.last;
        let entry = self.entry(number);
        (entry.stage, entry.next) = (Stage::Queued, NONE);
        if last == NONE {
            self.first = number;
        } else {
            self.entry(last).next = number;
        }
        self.last = number;
        self.queued += 1;
    }

    fn settle(&mut self, number: u32, is_dead: &mut impl FnMut(usize) -> bool) {
        let Entry { object, stage, .. } = self.entry_of(number);
        match stage {
            Stage::Young | Stage::Old if is_dead(object) => self.queue(number),
            Stage::Young => self.entry(number).stage = Stage::Old,
            Stage::Cancelled => self.release(number),
            Stage::Old | Stage::Queued | Stage::Free => {}
        }
    }

    /// Puts the entries of dead objects on the queue; returns how many it has looked at. `prefetch` is told of objects that are looked at soon.
    /// Afterwards all are entries of old objects.
    pub(super) fn settle_all(
        &mut self,
        pass: Pass,
        mut is_dead: impl FnMut(usize) -> bool,
        prefetch: impl Fn(usize),
    ) -> usize {
        let mut looked = 0;
        let mut young = core::mem::replace(&mut self.young, NONE);
        while young != NONE {
            let next = self.entry(young).next;
            self.settle(young, &mut is_dead);
            (young, looked) = (next, looked + 1);
        }
        if pass == Pass::Young {
            return looked;
        }
        for number in 1..self.used {
            if number + AHEAD < self.used {
                let ahead = self.entry_of((number + AHEAD) as u32);
                if ahead.stage == Stage::Old {
                    prefetch(ahead.object);
                }
            }
            self.settle(number as u32, &mut is_dead);
        }
        looked + self.used - 1
    }
}

impl Mapped for Table {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.entries.for_each_mapping(f);
        self.heads.for_each_mapping(f);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;
    use heapwood_os::testing::faulty::Faulty;
    use std::collections::{HashMap, HashSet};

    fn table(most: usize) -> Table {
        Table::new(&SYSTEM, most).unwrap()
    }

    fn drained(table: &mut Table) -> HashSet<usize> {
        core::iter::from_fn(|| table.next()).collect()
    }

    /// Random calls beside a model: which object each registration has, and what waits.
    #[test]
    fn every_registration_is_queued_once_or_cancelled() {
        let mut table = table(1 << 16);
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        // By tag: the number, the object, whether the object may be young.
        let mut model: HashMap<usize, ((u32, u32), usize, bool)> = HashMap::new();
        let (mut waits, mut gone) = (HashSet::new(), Vec::new());
        let (mut queued, mut cancelled) = (0, 0);
        for tag in 0..100_000usize {
            let object = 16 * (1 + random(3000));
            let is_old = random(2) == 0;
            let number = table.add(object, tag, is_old).unwrap();
            assert!(model.insert(tag, (number, object, !is_old)).is_none());
            match random(200) {
                0 => {
                    let dead = |object: usize| object / 16 % 7 == 3;
                    let pass = if random(3) == 0 { Pass::All } else { Pass::Young };
                    table.settle_all(pass, dead, |_| ());
                    model.retain(|&tag, (number, object, young)| {
                        let looks = pass == Pass::All || *young;
                        *young = false;
                        if looks && dead(*object) {
                            queued += 1;
                            gone.push(*number);
                            assert!(waits.insert(tag));
                        }
                        !(looks && dead(*object))
                    });
                    let has = |o: usize| model.values().any(|&(_, object, _)| object == o);
                    (0..50).map(|_| 16 * (1 + random(3001))).for_each(|o| assert_eq!(table.has(o), has(o)));
                }
                1..100 if !model.is_empty() => {
                    let tag = *model.keys().next().unwrap();
                    let (number, ..) = model.remove(&tag).unwrap();
                    assert_eq!(table.cancel(number), Ok(tag));
                    assert_eq!(table.cancel(number), Err(CancelError::NoEntry));
                    cancelled += 1;
                }
                100 => {
                    for number in gone.drain(..) {
                        assert_eq!(table.cancel(number), Err(CancelError::Queued));
                    }
                    assert_eq!(drained(&mut table), core::mem::take(&mut waits));
                }
                _ => {}
            }
            assert_eq!(table.counts(), (model.len(), waits.len()));
        }
        assert!(queued > 1000 && cancelled > 10_000, "{queued}, {cancelled}");
        table.settle_all(Pass::All, |_| true, |_| ());
        waits.extend(model.into_keys());
        assert_eq!(drained(&mut table), waits);
        assert_eq!(table.counts(), (0, 0));
        assert!((1..3001).all(|o| !table.has(16 * o)));
    }

    /// Objects of one size, one after the other: from the smallest to some that have pages of their own.
    #[test]
    fn entries_are_found_in_a_few_steps_and_used_again() {
        for size in [16, 32, 48, 208, 4096, 8192, 40_960, 1 << 20] {
            let mut table = table(1 << 18);
            (1..=100_000).for_each(|i| _ = table.add(i * size, i, true).unwrap());
            assert_eq!(table.buckets, 100_000, "about one entry a bucket");
            let mut steps = 0;
            for bucket in 0..table.buckets {
                let (mut at, mut length) = (*table.head(bucket), 0);
                while at != NONE {
                    (at, length) = (table.entry_of(at).chain, length + 1);
                    steps += length;
                }
            }
            assert!(steps <= 400_000, "{steps} steps to find 100,000 objects of {size} bytes");
        }
        let mut table = table(1 << 18);
        let n = 200_000;
        let mut numbers: Vec<_> = (1..=n).map(|i| table.add(i * 48, i, true).unwrap()).collect();
        for round in 0..3 {
            for (i, number) in numbers.iter_mut().enumerate().skip(round).step_by(3) {
                assert_eq!(table.cancel(*number), Ok(i + 1));
                *number = table.add((i + 1) * 48, i + 1, true).unwrap();
            }
        }
        assert_eq!((table.used, table.counts().0), (n + 1, n));
        assert_eq!(table.cancel((0, 0)), Err(CancelError::NoEntry));
        assert_eq!(table.cancel((u32::MAX, 1)), Err(CancelError::NoEntry));
    }

    #[test]
    fn a_full_table_and_a_kernel_that_refuses_are_errors_and_no_loss() {
        let mut small = table(0);
        let all = (1..STEP).map(|i| small.add(16 * i, i, false).unwrap()).collect::<Vec<_>>();
        assert_eq!(small.add(16, 0, false), Err(AddError::Full(STEP - 1)));
        small.cancel(all[7]).unwrap();
        // A cancelled one of a young object is free after the next collection.
        assert!(small.add(16, 0, false).is_err());
        small.settle_all(Pass::Young, |_| false, |_| ());
        small.add(16, 0, false).unwrap();
        assert_eq!(small.counts(), (STEP - 1, 0));

        static KERNEL: Faulty = Faulty::new();
        let mut table = Table::new(&KERNEL, 1 << 16).unwrap();
        for refused in 0..2 {
            KERNEL.refuse(refused);
            assert!(matches!(table.add(16, 1, true), Err(AddError::Kernel(_))));
            assert_eq!((table.counts(), table.has(16)), ((0, 0), false));
        }
        table.add(16, 1, true).unwrap();
        assert!(table.has(16));
    }

    /// A young collection looks at what was registered since the last one.
    #[test]
    fn a_young_pass_looks_at_young_entries_alone() {
        let mut table = table(1 << 16);
        (1..=5000).for_each(|i| _ = table.add(16 * i, i, i % 2 == 0).unwrap());
        assert_eq!(table.settle_all(Pass::Young, |_| false, |_| ()), 2500);
        assert_eq!(table.settle_all(Pass::Young, |_| true, |_| ()), 0);
        table.add(16, 0, false).unwrap();
        assert_eq!(table.settle_all(Pass::Young, |_| true, |_| ()), 1);
        assert_eq!((table.counts(), table.next()), ((5000, 1), Some(0)));
    }
}
