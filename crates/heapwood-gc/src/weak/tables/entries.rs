//! A weak table as its words: an object of four words, with a lock, and an array of places. A place has a hash and an ephemeron;
//! one whose key is dead is passed by searches, and goes when the array is made anew. Objects never move, so the hash of an identity
//! is of its address, and no collection rehashes. Invariants: a thread that holds the lock is in a no-preempt region, so no stop finds it held; at
//! least one place of an array has never been used, so a search ends.

use crate::mutator::Mutator;
use crate::weak::ephemerons::Ephemeron;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_heap::{Address, ObjectRef, publication};
use heapwood_layout::WORD;
use heapwood_os::threads::futex;

/// Places of a new table.
const FEWEST: usize = 8;
/// Words of a place: the hash, the ephemeron.
const PLACE: usize = 2;
/// The second half of the first word, in all tables.
const MAGIC: u32 = 0x5EA7_7AB1;

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;
/// So often a thread looks at a lock that is held before it sleeps.
const LOOKS: usize = 100;

/// A table, by its address.
#[derive(Clone, Copy)]
pub(super) struct Table(usize);

/// A table whose lock is held.
pub(super) struct Locked<'m> {
    table: Table,
    mutator: &'m Mutator,
}

/// Where a search has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At an entry.
    Found(Ephemeron),
    /// Where one may be put, of this index.
    Vacant(usize),
}

impl Table {
    /// Bytes of a table, and the mask of its pointers.
    pub(super) const BYTES: usize = 4 * WORD;
    pub(super) const MASK: [u64; 4] = [0b1000, 0, 0, 0];

    /// Bytes of an array of so many places.
    pub(super) fn array_bytes(places: usize) -> usize {
        places * PLACE * WORD
    }

    /// The table at an address.
    ///
    /// # Safety
    /// 1. An object of a table's layout is there, and stays during the call of the program's.
    pub(super) unsafe fn at(address: usize) -> Self {
        Table(address)
    }

    fn half(&self, index: usize) -> &AtomicU32 {
        // SAFETY: contract 1 of `at`. The first two words are used by halves, by atomic operations.
        unsafe { AtomicU32::from_ptr((self.0 as *mut u32).add(index)) }
    }

    fn word(&self, index: usize) -> &AtomicUsize {
        // SAFETY: as above, of the last two words.
        unsafe { AtomicUsize::from_ptr((self.0 as *mut usize).add(index)) }
    }

    fn lock_word(&self) -> &AtomicU32 {
        self.half(0)
    }

    /// Makes it an empty table without places.
    pub(super) fn init(self) {
        for (index, half) in [FREE, MAGIC, 0, 0].into_iter().enumerate() {
            self.half(index).store(half, Ordering::Relaxed);
        }
        self.word(2).store(0, Ordering::Relaxed);
        self.word(3).store(0, Ordering::Relaxed);
    }

    pub(super) fn is_one(self) -> bool {
        self.half(1).load(Ordering::Relaxed) == MAGIC
    }

    /// Calls `f` with the lock held.
    pub(super) fn locked<R>(self, mutator: &Mutator, f: impl FnOnce(&Locked<'_>) -> R) -> R {
        let _no_preempt = mutator.record().no_preempt();
        self.lock();
        let result = f(&Locked { table: self, mutator });
        if self.lock_word().swap(FREE, Ordering::Release) == AWAITED {
            futex::wake(self.lock_word(), 1);
        }
        result
    }

    fn lock(&self) {
        let word = self.lock_word();
        for _ in 0..LOOKS {
            if word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
            core::hint::spin_loop();
        }
        // Whoever has slept holds it as awaited: others may sleep, too.
        while word.swap(AWAITED, Ordering::Acquire) != FREE {
            futex::wait(word, AWAITED);
        }
    }
}

impl Locked<'_> {
    pub(super) fn places(&self) -> usize {
        self.table.word(2).load(Ordering::Relaxed)
    }

    /// Places that were ever used since the array was made.
    fn used(&self) -> usize {
        self.table.half(2).load(Ordering::Relaxed) as usize
    }

    /// Counts the changes, so that a search can go on where it was.
    pub(super) fn version(&self) -> u32 {
        self.table.half(3).load(Ordering::Relaxed)
    }

    fn changed(&self) {
        self.table.half(3).store(self.version().wrapping_add(1), Ordering::Relaxed);
    }

    fn array(&self) -> usize {
        self.table.word(3).load(Ordering::Relaxed)
    }

    fn place_in(array: usize, index: usize) -> [*mut usize; PLACE] {
        let first = array + index * PLACE * WORD;
        [first as *mut usize, (first + WORD) as *mut usize]
    }

    fn load(at: *mut usize) -> usize {
        // SAFETY: a word of an array of the table; markers read it meanwhile.
        publication::load(unsafe { AtomicUsize::from_ptr(at) })
    }

    /// The hash and the ephemeron of a place, if it was used.
    pub(super) fn entry(&self, index: usize) -> Option<(usize, Ephemeron)> {
        let [hash, ephemeron] = Self::place_in(self.array(), index).map(Self::load);
        // SAFETY: places hold ephemerons, which the array keeps.
        (ephemeron != 0).then(|| (hash, unsafe { Ephemeron::at(ephemeron) }))
    }

    /// Whether one more entry needs a larger array: of four places one stays free.
    pub(super) fn is_full(&self) -> bool {
        4 * (self.used() + 1) > 3 * self.places()
    }

    /// Those whose keys were not cleared.
    pub(super) fn count(&self) -> usize {
        (0..self.places()).filter(|&i| self.entry(i).is_some_and(|(_, e)| e.key() != 0)).count()
    }

    /// The places that an array should have for what is there and one more: so that as many fit again before the next.
    pub(super) fn wanted_places(&self) -> usize {
        (2 * (self.count() + 1)).next_power_of_two().max(FEWEST)
    }

    /// Searches on from the N-th place of a hash. Stops at an entry with this hash that `is_wanted` and was not cleared, or at a
    /// place that was never used. Of other entries it reads the hash alone, so each look-up meets few ephemerons.
    pub(super) fn search(
        &self,
        hash: usize,
        from: usize,
        mut is_wanted: impl FnMut(Ephemeron) -> bool,
    ) -> (usize, Place) {
        let (array, places) = (self.array(), self.places());
        for step in from..places {
            let index = hash.wrapping_add(step) & (places - 1);
            let [entry_hash, ephemeron] = Self::place_in(array, index).map(Self::load);
            if ephemeron == 0 {
                return (step, Place::Vacant(index));
            }
            if entry_hash == hash {
                // SAFETY: places hold ephemerons, which the array keeps.
                let ephemeron = unsafe { Ephemeron::at(ephemeron) };
                if ephemeron.key() != 0 && is_wanted(ephemeron) {
                    return (step, Place::Found(ephemeron));
                }
            }
        }
        unreachable!("a place was never used")
    }

    /// Puts an ephemeron into a vacant place. There is room for one more.
    pub(super) fn put(&self, index: usize, hash: usize, ephemeron: Ephemeron) {
        let [hash_at, at] = Self::place_in(self.array(), index);
        // SAFETY: a word of the array, without pointer meaning.
        unsafe { AtomicUsize::from_ptr(hash_at) }.store(hash, Ordering::Relaxed);
        // SAFETY: a slot of the array, which is an object; the value is one.
        unsafe {
            let array = ObjectRef::new(self.array());
            self.mutator.barrier().write(array, at, Address::new(ephemeron.address()));
        }
        self.table.half(2).store((self.used() + 1) as u32, Ordering::Relaxed);
        self.changed();
    }

    /// Clears an entry, as if its key were dead.
    pub(super) fn remove(&self, ephemeron: Ephemeron) {
        let (object, slot) = (ObjectRef::new(ephemeron.address()), ephemeron.value_slot() as *mut usize);
        // SAFETY: a slot of an ephemeron, which may be null.
        unsafe { self.mutator.barrier().write(object, slot, Address::new(0)) };
        let state = self.mutator.shared();
        if let Some(keys) = state.ephemerons().keys() {
            keys.remove(state.space(), ephemeron.key());
        }
        ephemeron.forget_key();
        self.changed();
    }

    /// Moves all entries to an array that was made just now, of so many places, which has room for them and one more.
    pub(super) fn move_to(&self, array: usize, places: usize) {
        let mut used = 0;
        for (hash, ephemeron) in (0..self.places()).filter_map(|i| self.entry(i)) {
            if ephemeron.key() == 0 {
                continue;
            }
            let is_free = |&step: &usize| {
                Self::load(Self::place_in(array, hash.wrapping_add(step) & (places - 1))[1]) == 0
            };
            let step = (0..places).find(is_free).unwrap_or_else(|| unreachable!("there is room for all"));
            let [hash_at, at] = Self::place_in(array, hash.wrapping_add(step) & (places - 1));
            // SAFETY: words of the new array; stores that initialise a new object need no barrier.
            unsafe {
                AtomicUsize::from_ptr(hash_at).store(hash, Ordering::Relaxed);
                AtomicUsize::from_ptr(at).store(ephemeron.address(), Ordering::Relaxed);
            }
            used += 1;
        }
        let slot: *const AtomicUsize = self.table.word(3);
        // SAFETY: the slot of the table for its array.
        unsafe {
            self.mutator.barrier().write(
                ObjectRef::new(self.table.0),
                slot as *mut usize,
                Address::new(array),
            );
        }
        self.table.word(2).store(places, Ordering::Relaxed);
        self.table.half(2).store(used, Ordering::Relaxed);
        self.changed();
    }
}
