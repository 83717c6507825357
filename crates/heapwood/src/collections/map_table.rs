//! The arrays of a map: control bytes, and entries, by open addressing. The design is that of Abseil's Swiss tables and hashbrown, in
//! two objects of the heap. Invariants: a place has an entry exactly if its control byte says so, whatever a key's hash or
//! equality do; the number of places is a power of two, and some are empty, so that every search ends. The first bytes of
//! the control array are repeated behind its end, for groups that begin near it.

use super::groups::{Bits, DELETED, EMPTY, GROUP, Group, is_full};
use super::slots::Slots;
use crate::gc::Gc;
use crate::mutator::Mutator;
use crate::place::{self, Slot};
use heapwood_gc::AllocError;

/// The arrays of a table, as they are at one moment.
pub(crate) struct Table<K, V> {
    pub(crate) control: Gc<Slots<u8>>,
    pub(crate) entries: Gc<Slots<(K, V)>>,
    /// The number of places, less one.
    pub(crate) mask: usize,
}

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Table<K, V> {}

/// What a search for a place to insert at has found.
pub(crate) enum Found {
    /// The entry is here.
    Here(usize),
    /// There is none, and this place has none.
    Free(usize),
}

/// The entries that so many places have room for.
pub(crate) fn room(places: usize) -> usize {
    if places < 8 { places - 1 } else { places / 8 * 7 }
}

/// As many places have room for so many entries.
fn places_for(entries: usize) -> usize {
    match entries {
        0..4 => 4,
        4..8 => 8,
        _ => (entries.saturating_mul(8) / 7).checked_next_power_of_two().unwrap_or(usize::MAX / 2 + 1),
    }
}

/// The part of a hash that a control byte holds.
#[inline(always)]
fn tag(hash: u64) -> u8 {
    (hash >> 57) as u8
}

/// The places of a hash, group by group: triangular numbers, which meet every group.
struct Probe {
    at: usize,
    step: usize,
}

impl Probe {
    #[inline(always)]
    fn new(hash: u64, mask: usize) -> Self {
        Probe { at: hash as usize & mask, step: 0 }
    }

    #[inline(always)]
    fn go_on(&mut self, mask: usize) {
        self.step += GROUP;
        self.at = (self.at + self.step) & mask;
    }
}

impl<K: Slot, V: Slot> Table<K, V> {
    /// Empty arrays for so many entries. May collect.
    #[cold]
    #[inline(never)]
    pub(crate) fn new(m: &Mutator, entries: usize) -> Result<Self, AllocError> {
        let places = places_for(entries);
        let entries = Slots::new(m, places)?;
        let control = Slots::new(m, places + GROUP)?;
        let new = Table { control, entries, mask: places - 1 };
        // SAFETY: the bytes of a new array.
        unsafe { new.control().write_bytes(EMPTY, places + GROUP) };
        Ok(new)
    }

    #[inline(always)]
    fn control(self) -> *mut u8 {
        Slots::start(self.control)
    }

    #[inline(always)]
    fn group(self, at: usize) -> Group {
        // SAFETY: callers name a place; there is a group of bytes behind the last.
        unsafe { Group::load(self.control().add(at)) }
    }

    #[inline(always)]
    fn is_full(self, place: usize) -> bool {
        // SAFETY: callers name a place.
        is_full(unsafe { self.control().add(place).read() })
    }

    /// Writes a place's control byte, and its copy.
    #[inline(always)]
    fn set_control(self, place: usize, byte: u8) {
        let copy = (place.wrapping_sub(GROUP) & self.mask) + GROUP;
        // SAFETY: a place, and a byte behind the places.
        unsafe {
            self.control().add(place).write(byte);
            self.control().add(copy).write(byte);
        }
    }

    #[inline(always)]
    fn entry(self, place: usize) -> *mut (K, V) {
        // SAFETY: callers name a place.
        unsafe { Slots::start(self.entries).add(place) }
    }

    /// The key at a place.
    ///
    /// # Safety
    /// 1. The place has an entry.
    #[inline(always)]
    pub(crate) unsafe fn key(self, place: usize) -> K {
        // SAFETY: contract 1; a map belongs to its thread.
        unsafe { place::load_own(&raw mut (*self.entry(place)).0) }
    }

    /// The value at a place.
    ///
    /// # Safety
    /// 1. The place has an entry.
    #[inline(always)]
    pub(crate) unsafe fn value(self, place: usize) -> V {
        // SAFETY: contract 1; a map belongs to its thread.
        unsafe { place::load_own(&raw mut (*self.entry(place)).1) }
    }

    /// Stores a value over the one at a place.
    ///
    /// # Safety
    /// 1. The place has an entry.
    #[inline(always)]
    pub(crate) unsafe fn set_value(self, m: &Mutator, place: usize, value: V) {
        // SAFETY: contract 1.
        unsafe { place::store(m, &raw mut (*self.entry(place)).1, value) };
    }

    /// The place whose key `is_it`. A comparison that answers no is followed by `check`, which does not return if the table has
    /// changed; after one that answers yes the caller checks.
    #[inline(always)]
    pub(crate) fn find(self, hash: u64, mut is_it: impl FnMut(K) -> bool, check: impl Fn()) -> Option<usize> {
        let mut probe = Probe::new(hash, self.mask);
        loop {
            let group = self.group(probe.at);
            let mut matching = group.matching(tag(hash));
            while let Some(bit) = matching.take() {
                let place = (probe.at + bit) & self.mask;
                // SAFETY: its control byte is a tag, and nothing has changed since it was read.
                if is_it(unsafe { self.key(place) }) {
                    return Some(place);
                }
                check();
            }
            if group.empty().any() {
                return None;
            }
            probe.go_on(self.mask);
        }
    }

    /// The same, or a place for a new entry.
    #[inline(always)]
    pub(crate) fn find_or_free(self, hash: u64, mut is_it: impl FnMut(K) -> bool, check: impl Fn()) -> Found {
        let mut probe = Probe::new(hash, self.mask);
        let mut free = None;
        loop {
            let group = self.group(probe.at);
            let mut matching = group.matching(tag(hash));
            while let Some(bit) = matching.take() {
                let place = (probe.at + bit) & self.mask;
                // SAFETY: as in `find`.
                if is_it(unsafe { self.key(place) }) {
                    return Found::Here(place);
                }
                check();
            }
            if free.is_none() {
                free = group.free().take().map(|bit| (probe.at + bit) & self.mask);
            }
            if let Some(place) = free
                && group.empty().any()
            {
                return Found::Free(self.really_free(place));
            }
            probe.go_on(self.mask);
        }
    }

    /// A free place for a hash.
    #[inline(always)]
    fn free(self, hash: u64) -> usize {
        let mut probe = Probe::new(hash, self.mask);
        loop {
            if let Some(bit) = self.group(probe.at).free().take() {
                return self.really_free((probe.at + bit) & self.mask);
            }
            probe.go_on(self.mask);
        }
    }

    /// In a table of fewer places than a group has, bytes between the last place and the first copy are always empty, and lead to a
    /// place that may have an entry.
    #[inline(always)]
    fn really_free(self, place: usize) -> usize {
        match self.is_full(place) {
            false => place,
            true => self.group(0).free().take().expect("some places are empty"),
        }
    }

    /// Puts an entry into a free place; whether that was empty, and not deleted.
    ///
    /// # Safety
    /// 1. The place has no entry.
    #[inline(always)]
    pub(crate) unsafe fn put(self, m: &Mutator, place: usize, hash: u64, key: K, value: V) -> bool {
        // SAFETY: contract 1; the place is zero where the entry may hold a pointer.
        let was = unsafe {
            place::store(m, &raw mut (*self.entry(place)).0, key);
            place::store(m, &raw mut (*self.entry(place)).1, value);
            self.control().add(place).read()
        };
        self.set_control(place, tag(hash));
        was == EMPTY
    }

    /// Puts an entry into a table that has none with its key, and room.
    pub(crate) fn add(self, m: &Mutator, hash: u64, key: K, value: V) {
        // SAFETY: the place is free.
        unsafe { self.put(m, self.free(hash), hash, key, value) };
    }

    /// Takes the entry at a place away; whether the place is empty then, and not deleted.
    ///
    /// # Safety
    /// 1. The place has an entry.
    #[inline(always)]
    pub(crate) unsafe fn remove(self, m: &Mutator, place: usize) -> bool {
        let before = self.group(place.wrapping_sub(GROUP) & self.mask).empty();
        // A search passes by a place only where a whole group is not empty.
        let is_passed = before.behind_last() + self.group(place).empty().before_first() >= GROUP;
        self.set_control(place, if is_passed { DELETED } else { EMPTY });
        // SAFETY: contract 1; it has none any more.
        unsafe { self.zero(m, place) };
        !is_passed
    }

    /// Puts zeros in place of what was an entry.
    ///
    /// # Safety
    /// 1. The place has no entry.
    #[inline(always)]
    unsafe fn zero(self, m: &Mutator, place: usize) {
        // SAFETY: contract 1.
        unsafe {
            place::clear(m, &raw mut (*self.entry(place)).0);
            place::clear(m, &raw mut (*self.entry(place)).1);
        }
    }

    /// Takes all entries away.
    pub(crate) fn clear(self, m: &Mutator) {
        for place in 0..=self.mask {
            if self.is_full(place) {
                self.set_control(place, DELETED);
                // SAFETY: the place has no entry any more.
                unsafe { self.zero(m, place) };
            }
        }
        // SAFETY: the whole array.
        unsafe { self.control().write_bytes(EMPTY, self.mask + 1 + GROUP) };
    }

    /// All places with an entry, as `Places` goes on.
    pub(crate) fn places(self) -> Places<K, V> {
        Places { table: self, group: 0, full: Bits::NONE, next: 0 }
    }
}

/// The places of a table that have an entry at the moment when they are returned.
pub(crate) struct Places<K, V> {
    pub(crate) table: Table<K, V>,
    group: usize,
    full: Bits,
    /// The place of the next group.
    next: usize,
}

impl<K, V> Clone for Places<K, V> {
    fn clone(&self) -> Self {
        Places { ..*self }
    }
}

impl<K: Slot, V: Slot> Iterator for Places<K, V> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            while let Some(bit) = self.full.take() {
                let place = self.group + bit;
                // The bits are of the moment when the group was read. (There are no copies among them, nor in a small table.)
                debug_assert!(place <= self.table.mask);
                if self.table.is_full(place) {
                    return Some(place);
                }
            }
            if self.next > self.table.mask {
                return None;
            }
            self.group = self.next;
            self.next += GROUP;
            self.full = self.table.group(self.group).full();
        }
    }
}
