//! The places in which pointers may be lost: a table of entries in mapped memory, which a free list of entries links. It grows and never
//! shrinks. Threads add and remove without a lock, since a collection may stop any of them anywhere, and then reads the table.
//!
//! Invariant: an entry's start is not 0 while its place may be read. Who reads it sets its lowest bit meanwhile (places lie at even
//! addresses; others are not kept), and who removes it waits for that: the reader is never stopped.

use core::num::NonZeroU32;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use heapwood_os::diagnose::backtrace::Callers;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{MappedArray, MappedBox, NumberStack, OsError, SYSTEM};

/// The most places.
const MOST: usize = 1 << 23;
/// Entries are committed in steps of this size.
const STEP: usize = 1 << 12;
/// Of a start: the place is being read.
const READ: usize = 1;

/// Where a place was made; zeros: nobody noted it.
pub(super) type Sites = Callers;

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A block of the allocator.
    Block = 0,
    /// A thread's data of the program or a library.
    ThreadData = 1,
    /// Data of the program or a library.
    Static = 2,
}

/// A place that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: usize,
    pub(super) bytes: usize,
    pub(super) align: usize,
    /// Whose it is, or who made it.
    pub(super) thread: u32,
    pub(super) kind: Kind,
}

struct Entry {
    /// Of the place, and whether it is being read; 0: the entry is free.
    start: AtomicUsize,
    /// Of the place; of a free entry the number of the next.
    bytes: AtomicUsize,
    thread: AtomicU32,
    /// The kind, and the alignment's logarithm above it.
    kind: AtomicU32,
}

// SAFETY: zeros are a free entry of plain numbers.
unsafe impl Zeroed for Entry {}

/// The places.
pub(super) struct Table {
    entries: MappedArray<Entry>,
    /// Beside the entries; their memory is used only where callers are noted.
    sites: MappedArray<[AtomicUsize; 8]>,
    /// Entries that have memory.
    committed: AtomicUsize,
    with_sites: AtomicUsize,
    /// Entries that were ever used. The first is none.
    used: AtomicUsize,
    free: NumberStack,
    /// A lost pointer ends the process.
    pub(super) ends: bool,
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

impl Table {
    fn new(ends: bool) -> Result<Self, OsError> {
        Ok(Table {
            entries: MappedArray::new(&SYSTEM, MOST)?,
            sites: MappedArray::new(&SYSTEM, MOST)?,
            committed: AtomicUsize::new(0),
            with_sites: AtomicUsize::new(0),
            used: AtomicUsize::new(1),
            free: NumberStack::new(),
            ends,
        })
    }

    /// That of the process, if a watched allocator has been used.
    pub(super) fn get() -> Option<&'static Table> {
        // SAFETY: it is never given back.
        unsafe { TABLE.load(Ordering::Acquire).as_ref() }
    }

    /// The same, made by the first who asks. None: the system gives no addresses for it.
    pub(super) fn get_or_make(ends: bool) -> Option<&'static Table> {
        Table::get().or_else(|| {
            let mine = MappedBox::new(&SYSTEM, Table::new(ends).ok()?).ok()?.into_raw();
            let none = core::ptr::null_mut();
            if TABLE.compare_exchange(none, mine.as_ptr(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
                // SAFETY: it came from a box just now, and nobody has seen it.
                drop(unsafe { MappedBox::from_raw(mine) });
            }
            Table::get()
        })
    }

    fn entry(&self, number: usize) -> &Entry {
        // SAFETY: numbers are those of committed entries.
        unsafe { &*self.entries.at(number) }
    }

    /// Takes a free entry; 0 if there is none.
    fn take(&self) -> usize {
        let link =
            |number: NonZeroU32| self.entry(number.get() as usize).bytes.load(Ordering::Relaxed) as u32;
        if let Some(number) = self.free.pop(link) {
            return number.get() as usize;
        }
        let number = self.used.load(Ordering::Relaxed);
        if number >= MOST {
            return 0;
        }
        let number = self.used.fetch_add(1, Ordering::Relaxed);
        if number >= MOST || !self.commit(&self.committed, &self.entries, number) {
            // It stays unused.
            return 0;
        }
        number
    }

    /// Gives an element memory, if it has none. Several threads may commit the same ones.
    fn commit<T: Zeroed>(&self, committed: &AtomicUsize, array: &MappedArray<T>, number: usize) -> bool {
        while committed.load(Ordering::Acquire) <= number {
            let from = committed.load(Ordering::Relaxed);
            let end = (number + 1).next_multiple_of(STEP).min(MOST);
            if array.commit(from..end).is_err() {
                return false;
            }
            committed.fetch_max(end, Ordering::Release);
        }
        true
    }

    /// Adds a place; its number, or 0 if there is no room.
    pub(super) fn add(&self, place: Place, sites: Sites) -> usize {
        if place.start & READ != 0 {
            return 0;
        }
        let number = self.take();
        if number == 0 {
            return 0;
        }
        let entry = self.entry(number);
        entry.bytes.store(place.bytes, Ordering::Relaxed);
        entry.thread.store(place.thread, Ordering::Relaxed);
        entry.kind.store(place.kind as u32 | place.align.trailing_zeros() << 8, Ordering::Relaxed);
        let has_room = || number < self.with_sites.load(Ordering::Acquire);
        if has_room() || sites[0] != 0 && self.commit(&self.with_sites, &self.sites, number) {
            // SAFETY: it is committed.
            let places = unsafe { &*self.sites.at(number) };
            places.iter().zip(sites).for_each(|(place, site)| place.store(site, Ordering::Relaxed));
        }
        entry.start.store(place.start, Ordering::Release);
        number
    }

    /// Removes the place of a number, when nobody reads it any more; false if it is another's.
    pub(super) fn remove(&self, number: usize, start: usize) -> bool {
        if number >= self.committed.load(Ordering::Acquire) {
            return false;
        }
        let entry = self.entry(number);
        while let Err(now) = entry.start.compare_exchange_weak(start, 0, Ordering::AcqRel, Ordering::Relaxed)
        {
            if now & !READ != start {
                return false;
            }
            if now & READ != 0 {
                std::thread::yield_now();
            }
        }
        let number = NonZeroU32::new(number as u32).expect("the first entry is never given out");
        self.free.push(number, |next| entry.bytes.store(next as usize, Ordering::Relaxed));
        true
    }

    /// Calls `f` with each place and its number, which is not removed meanwhile. In `f` nothing is removed on this thread.
    pub(super) fn for_each(&self, mut f: impl FnMut(usize, Place)) {
        let used = self.used.load(Ordering::Acquire).min(self.committed.load(Ordering::Acquire));
        for number in 1..used {
            let entry = self.entry(number);
            let start = entry.start.load(Ordering::Relaxed);
            let reads = |start| {
                entry
                    .start
                    .compare_exchange(start, start | READ, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            };
            if start == 0 || start & READ != 0 || !reads(start) {
                continue;
            }
            let kind = entry.kind.load(Ordering::Relaxed);
            f(
                number,
                Place {
                    start,
                    bytes: entry.bytes.load(Ordering::Relaxed),
                    align: 1 << (kind >> 8),
                    thread: entry.thread.load(Ordering::Relaxed),
                    kind: match kind as u8 {
                        0 => Kind::Block,
                        1 => Kind::ThreadData,
                        _ => Kind::Static,
                    },
                },
            );
            entry.start.store(start, Ordering::Release);
        }
    }

    /// Removes the places of a kind and a thread.
    pub(super) fn remove_all(&self, kind: Kind, thread: u32) {
        let used = self.used.load(Ordering::Acquire).min(self.committed.load(Ordering::Acquire));
        for number in 1..used {
            let entry = self.entry(number);
            let start = entry.start.load(Ordering::Acquire) & !READ;
            if start != 0
                && entry.kind.load(Ordering::Relaxed) as u8 == kind as u8
                && entry.thread.load(Ordering::Relaxed) == thread
            {
                self.remove(number, start);
            }
        }
    }

    /// The callers that were noted for a place, the innermost first.
    pub(super) fn sites(&self, number: usize) -> Sites {
        match number < self.with_sites.load(Ordering::Acquire) {
            // SAFETY: it is committed.
            true => unsafe { &*self.sites.at(number) }.each_ref().map(|site| site.load(Ordering::Relaxed)),
            false => Sites::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(start: usize, thread: u32) -> Place {
        Place { start, bytes: 40, align: 8, thread, kind: Kind::Block }
    }

    fn starts(table: &Table) -> Vec<usize> {
        let mut all = Vec::new();
        table.for_each(|_, place| all.push(place.start));
        all
    }

    #[test]
    fn places_come_and_go() {
        let table = Table::new(true).unwrap();
        let numbers: Vec<_> = (1..=3 * STEP).map(|i| table.add(place(i * 16, 7), Sites::default())).collect();
        assert_eq!(starts(&table).len(), 3 * STEP);
        assert!(table.remove(numbers[4], 5 * 16));
        assert!(!table.remove(numbers[4], 5 * 16), "it was removed");
        assert!(!table.remove(numbers[5], 5 * 16), "it is another's");
        assert!(!table.remove(usize::MAX, 5 * 16) && !table.remove(0, 16));
        assert_eq!(table.add(place(32, 8), [9; 8]), numbers[4], "the entry is used again");
        assert_eq!((table.sites(numbers[4]), table.sites(numbers[5])), ([9; 8], [0; 8]));
        assert_eq!(table.add(place(33, 8), Sites::default()), 0);
        table.remove_all(Kind::Static, 7);
        assert_eq!(starts(&table).len(), 3 * STEP);
        table.remove_all(Kind::Block, 7);
        assert_eq!(starts(&table), [32]);
    }

    #[test]
    fn threads_add_and_remove_while_one_reads() {
        let table = Table::new(true).unwrap();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (1..4usize)
                .map(|t| {
                    let table = &table;
                    scope.spawn(move || {
                        for round in 0..600 {
                            let starts = (0..1 + round % 7).map(|i| (t << 20) + i * 16);
                            let added: Vec<_> = starts
                                .map(|start| (table.add(place(start, t as u32), [0; 8]), start))
                                .collect();
                            added
                                .into_iter()
                                .for_each(|(number, start)| assert!(table.remove(number, start)));
                        }
                    })
                })
                .collect();
            while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                table.for_each(|number, place| {
                    assert_eq!((place.start >> 20, place.bytes), (place.thread as usize, 40));
                    std::thread::yield_now();
                    let start = table.entry(number).start.load(Ordering::Relaxed);
                    assert_eq!(start, place.start | READ, "it stays while it is read");
                });
            }
        });
        assert_eq!(starts(&table), []);
        assert!(table.used.load(Ordering::Relaxed) < 40, "entries are used again");
    }
}
