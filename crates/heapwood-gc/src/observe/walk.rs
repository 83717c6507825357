//! A walk over the objects that some roots reach, slow and simple, for verify mode: it finds out independently what the
//! marker should have found. Its tables are mapped memory, since it runs while the heap stands still. Invariant: an object
//! waits at most once in a walk, so there is room for all.

use super::slots::for_each_slot;
use crate::pause::Pause;
use crate::roots::Source;
use crate::weak::verify::{ephemeron_at, value_of};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{Address, Collection, GRANULE, Space};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

const BITS: usize = u64::BITS as usize;

/// A set of objects: one bit for each granule. One thread collects, and only it uses the set.
pub(super) struct ObjectSet {
    bits: MappedArray<u64>,
    base: usize,
    /// Words of bits in use.
    words: AtomicUsize,
}

impl ObjectSet {
    pub(super) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        let granules = space.reservation_bytes() / GRANULE;
        Ok(ObjectSet {
            bits: MappedArray::new(kernel, granules.div_ceil(BITS))?,
            base: space.base().get(),
            words: AtomicUsize::new(0),
        })
    }

    fn words(&self) -> usize {
        self.words.load(Ordering::Relaxed)
    }

    /// Makes room for all objects of the heap as it is now.
    pub(super) fn commit(&self, space: &Space) -> Result<(), OsError> {
        let words = (space.committed_end() / GRANULE).div_ceil(BITS).max(self.words());
        self.bits.commit(0..words)?;
        self.words.store(words, Ordering::Relaxed);
        Ok(())
    }

    /// The word of an object's bit, and the bit; `None` where there is no room.
    fn bit(&self, object: usize) -> Option<(*mut u64, u64)> {
        let granule = (object - self.base) / GRANULE;
        (granule / BITS < self.words()).then(|| (self.bits.at(granule / BITS), 1 << (granule % BITS)))
    }

    /// Adds an object of the heap; whether it was new.
    pub(super) fn insert(&self, object: usize) -> bool {
        self.bit(object).is_some_and(|(word, bit)| {
            // SAFETY: the words in use are committed, and only this thread uses them.
            unsafe {
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
        })
    }

    /// Removes an object of the heap.
    pub(super) fn remove(&self, object: usize) {
        if let Some((word, bit)) = self.bit(object) {
            // SAFETY: as in `insert`.
            unsafe { *word &= !bit };
        }
    }

    /// Whether it has an object of the heap.
    pub(super) fn has(&self, object: usize) -> bool {
        // SAFETY: as in `insert`.
        self.bit(object).is_some_and(|(word, bit)| unsafe { *word & bit != 0 })
    }

    /// Calls `f` with each object.
    pub(super) fn for_each(&self, mut f: impl FnMut(usize)) {
        for index in 0..self.words() {
            // SAFETY: as in `insert`.
            let mut word = unsafe { self.bits.at(index).read() };
            while word != 0 {
                f(self.base + (index * BITS + word.trailing_zeros() as usize) * GRANULE);
                word &= word - 1;
            }
        }
    }

    /// Empties it, and gives its memory back.
    pub(super) fn clear(&self) -> Result<(), OsError> {
        give_back(&self.bits, self.words.swap(0, Ordering::Relaxed))
    }
}

/// The tables of walks over one heap, one at a time; their memory is used only during one.
pub(super) struct Walk {
    /// Objects that were reached and whose slots were not yet read.
    waiting: MappedArray<usize>,
    /// Ephemerons that were reached, whose keys were not yet.
    undecided: MappedArray<usize>,
}

/// Granules of an ephemeron.
const EPHEMERON: usize = 2;

impl Walk {
    pub(super) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        let granules = space.reservation_bytes() / GRANULE;
        Ok(Walk {
            waiting: MappedArray::new(kernel, granules)?,
            undecided: MappedArray::new(kernel, granules / EPHEMERON)?,
        })
    }

    /// Begins a walk, which adds what it reaches to an empty set. The heap is stopped, flushed and swept; one thread collects.
    ///
    /// # Errors
    /// The kernel refuses memory for the tables.
    pub(super) fn begin<'w>(
        &'w self,
        space: &'w Space,
        reached: &'w ObjectSet,
    ) -> Result<Walking<'w>, OsError> {
        let room = space.committed_end() / GRANULE;
        reached.commit(space)?;
        self.waiting.commit(0..room)?;
        self.undecided.commit(0..room / EPHEMERON)?;
        Ok(Walking { space, reached, walk: self, room, len: 0, undecided: 0 })
    }

    /// Calls `slot` with each pointer slot of each object that `roots` reach, the object and its bytes, and the slot's
    /// value; the value is outside the heap, or `slot` accepts it. The walk does not follow reports of trace functions, and
    /// needs an empty set. Verify mode needs it if the program frees objects itself: then a dead object may refer to a freed
    /// one, and an object that only a stack's word keeps may be dead; but an object that precise roots reach is alive.
    ///
    /// # Errors
    /// As [`Walk::begin`].
    pub(super) fn run(
        &self,
        (space, reached): (&Space, &ObjectSet),
        roots: impl FnOnce(&mut dyn FnMut(usize)),
        mut slot: impl FnMut(usize, (usize, usize), usize),
    ) -> Result<(), OsError> {
        let mut walking = self.begin(space, reached)?;
        roots(&mut |object| walking.reach(object));
        while let Some((object, bytes)) = walking.next() {
            for_each_slot(space, object, bytes, |at| {
                // SAFETY: the slot lies in an object of a stopped heap.
                let value = unsafe { (at as *const usize).read() };
                slot(at, (object, bytes), value);
                walking.reach(value);
            });
        }
        walking.end()?;
        reached.clear()
    }
}

/// A walk under way.
pub(super) struct Walking<'w> {
    space: &'w Space,
    reached: &'w ObjectSet,
    walk: &'w Walk,
    room: usize,
    len: usize,
    undecided: usize,
}

impl Walking<'_> {
    /// Adds the object at an address, or the arena chunk that it leads into, if the walk has not been there; ignores
    /// addresses outside the heap, and of chunks that no arena has.
    pub(super) fn reach(&mut self, address: usize) {
        let address = Address::new(address);
        if !self.space.contains(address) {
            return;
        }
        let Some(object) = self.space.arenas().marked_as(address) else { return };
        if self.reached.insert(object.get()) {
            // SAFETY: the table has room for one object a granule, each waits once, and only this thread uses it.
            unsafe { self.walk.waiting.at(self.len).write(object.get()) };
            self.len += 1;
        }
    }

    /// The next object that waits, and its bytes; 0 bytes if none exists there. The chunks of an arena are reached together.
    pub(super) fn next(&mut self) -> Option<(usize, usize)> {
        while self.len == 0 {
            if !self.reach_values() {
                return None;
            }
        }
        self.len -= 1;
        // SAFETY: it was written when the object was reached.
        let object = unsafe { self.walk.waiting.at(self.len).read() };
        let (space, at) = (self.space, Address::new(object));
        if ephemeron_at(space, object).is_some() {
            // SAFETY: the table has room for one a cell, and each is reached once.
            unsafe { self.walk.undecided.at(self.undecided).write(object) };
            self.undecided += 1;
        }
        if let Some(chunk) = space.arenas().find_chunk(at).filter(|chunk| chunk.is_in_use()) {
            self.reach(space.base().get() + chunk.next().byte_offset());
        }
        Some((object, space.find(at).map_or(0, |found| found.bytes / WORD * WORD)))
    }

    /// Looks at each ephemeron once more whose key had not been reached; whether one was of use.
    fn reach_values(&mut self) -> bool {
        let (seen, mut kept) = (self.undecided, 0);
        for i in 0..seen {
            // SAFETY: so many were written, and only this thread uses the table.
            let object = unsafe { self.walk.undecided.at(i).read() };
            let ephemeron = ephemeron_at(self.space, object);
            match ephemeron.and_then(|e| value_of(self.space, e, |key| self.reached.has(key))) {
                Some(value) => self.reach(value),
                None => {
                    // SAFETY: as above; it has been read.
                    unsafe { self.walk.undecided.at(kept).write(object) };
                    kept += 1;
                }
            }
        }
        self.undecided = kept;
        kept < seen
    }

    /// Ends the walk; the set keeps what it has reached.
    pub(super) fn end(self) -> Result<(), OsError> {
        give_back(&self.walk.waiting, self.room)?;
        give_back(&self.walk.undecided, self.room / EPHEMERON)
    }
}

/// Zeroes the first elements, and gives their memory back.
fn give_back<T: Zeroed>(table: &MappedArray<T>, len: usize) -> Result<(), OsError> {
    // SAFETY: they are committed, and the walk that used them has ended.
    unsafe { table.decommit(0..len) }
}

#[cold]
pub(super) fn no_memory(e: OsError) -> ! {
    corrupt(format_args!("no memory for the tables of verify mode: {e}"))
}

impl Mapped for ObjectSet {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.bits.for_each_mapping(f);
    }
}

impl Mapped for Walk {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.waiting.for_each_mapping(f);
        self.undecided.for_each_mapping(f);
    }
}

/// Calls `f` with each precise root: its source, its address, and its value.
pub(super) fn for_each_root(pause: &Pause<'_>, mut f: impl FnMut(Source, usize, usize)) {
    pause.for_each_root_but_stacks(|source, words| {
        for at in words.step_by(WORD).filter(|_| source.is_precise()) {
            // SAFETY: registered roots stay readable, and so do handles and linked frames; their threads are stopped.
            f(source, at, unsafe { (at as *const usize).read_volatile() });
        }
    });
}

/// Calls `f` with each object that an ambiguous root word points to or into.
pub(super) fn for_each_ambiguous_root(pause: &Pause<'_>, mut f: impl FnMut(usize)) {
    pause.for_each_root(Collection::Full, |source, words| {
        if source.is_precise() || source == Source::Arena {
            return;
        }
        for at in (words.start.next_multiple_of(WORD)..words.end & !(WORD - 1)).step_by(WORD) {
            // SAFETY: the words of roots stay readable during this call; others may write those of a range meanwhile.
            let word = unsafe { (at as *const usize).read_volatile() };
            let is_stack = matches!(source, Source::Stack | Source::Cell);
            let rules = pause.state().ambiguous_words();
            if let Some(found) = pause.space().find(Address::new(word))
                && (is_stack || rules.counts_for(word, found.base.get()))
            {
                f(found.base.get());
            }
        }
    });
}
