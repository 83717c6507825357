//! The quarantine of verify mode: nobody gets the memory of a freed object before so many bytes were freed after it, so a pointer that
//! was kept where no collection looks leads to no other object. Its cell is filled, and who freed it is remembered. Cells leave at
//! full collections, the oldest first; then they are looked at once more, for somebody may have written into them.
//! Invariant: the words of a kept cell say who freed it as long as the cell has its freed bit, except between a program's free and the
//! next full collection.

use super::sites::Sites;
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use heapwood_heap::{Address, CLOBBER, Collection, GRANULE, ObjectRef, Space, Stopped};
use heapwood_layout::WORD;
use heapwood_os::diagnose::asan::AddressSanitizer;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError, for_each_mapping_of};

/// Who freed an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreedBy {
    /// The collection of this number: none of the words that it looked at led to the object.
    Collection(u64),
    /// The program.
    Program,
}

/// A word of the table: the number of the collection that took the cell, and whether the program had freed it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Taken(u32);

impl Taken {
    const BY_PROGRAM: u32 = 1 << 31;

    fn new(number: u32, by: FreedBy) -> Self {
        Taken(number | if by == FreedBy::Program { Self::BY_PROGRAM } else { 0 })
    }

    fn number(self) -> u32 {
        self.0 & !Self::BY_PROGRAM
    }

    fn by(self) -> FreedBy {
        match self.0 & Self::BY_PROGRAM {
            0 if self.0 != 0 => FreedBy::Collection(u64::from(self.number())),
            _ => FreedBy::Program,
        }
    }
}

/// The collections whose bytes are counted apart, in a ring: nothing that older ones have taken is kept. Each takes a word, where
/// collections come as often as allocations, too.
const COUNTED: usize = 1 << 20;
/// A full collection comes when so many have taken something that is kept.
const MANY: u32 = (COUNTED / 2) as u32;

/// The quarantine of a heap.
pub(crate) struct Quarantine {
    /// How many bytes are kept.
    budget: usize,
    base: usize,
    /// A word for each granule: of a kept cell the first says who took it.
    taken: MappedArray<AtomicU32>,
    /// The words with memory.
    committed: AtomicUsize,
    /// The bytes that each collection took, by its number.
    bytes_of: MappedArray<AtomicUsize>,
    /// The oldest collection of which something is kept.
    oldest: AtomicU32,
    sanitizer: Option<AddressSanitizer>,
    sites: Sites,
    /// The bytes that are kept, and those that the program has freed since the last full collection.
    kept: AtomicUsize,
    freed: AtomicUsize,
}

impl Quarantine {
    /// One that keeps `budget` bytes.
    pub(crate) fn new(kernel: KernelRef, space: &Space, budget: usize) -> Result<Self, OsError> {
        let bytes_of = MappedArray::new(kernel, COUNTED)?;
        bytes_of.commit(0..COUNTED)?;
        Ok(Quarantine {
            budget,
            base: space.base().get(),
            taken: MappedArray::new(kernel, space.reservation_bytes() / GRANULE)?,
            committed: AtomicUsize::new(0),
            bytes_of,
            oldest: AtomicU32::new(1),
            sanitizer: AddressSanitizer::find(),
            sites: Sites::new(kernel, space)?,
            kept: AtomicUsize::new(0),
            freed: AtomicUsize::new(0),
        })
    }

    /// Where objects were made.
    pub(crate) fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Notes that the program has freed so many bytes.
    pub(crate) fn note_freed(&self, bytes: usize) {
        self.freed.fetch_add(bytes, Relaxed);
    }

    /// Whether so much more is kept than wanted, or by so many collections, that a full one should come; `collections` have ended.
    pub(crate) fn is_over(&self, collections: u64) -> bool {
        self.kept.load(Relaxed) + self.freed.load(Relaxed) > self.budget + self.budget / 4
            || self.are_many(collections as u32)
    }

    fn are_many(&self, number: u32) -> bool {
        number.saturating_sub(self.oldest.load(Relaxed)) > MANY
    }

    /// Who freed the object whose cell begins at an address, if one was freed there and its memory is not in use again.
    pub(crate) fn freed_by(&self, space: &Space, address: Address) -> Option<FreedBy> {
        space.is_freed(ObjectRef::new(address.get())).then(|| self.taken(address.get()).by())
    }

    fn taken(&self, cell: usize) -> Taken {
        let index = (cell - self.base) / GRANULE;
        match index < self.committed.load(Relaxed) {
            // SAFETY: the words below this have memory.
            true => Taken(unsafe { &*self.taken.at(index) }.load(Relaxed)),
            false => Taken(0),
        }
    }

    fn set_taken(&self, cell: usize, taken: Taken) {
        // SAFETY: the cell exists, and `take` has committed the words of all.
        unsafe { &*self.taken.at((cell - self.base) / GRANULE) }.store(taken.0, Relaxed);
    }

    fn bytes_of(&self, number: u32) -> &AtomicUsize {
        // SAFETY: all are committed.
        unsafe { &*self.bytes_of.at(number as usize % COUNTED) }
    }

    /// In the pause of collection `number`, when everything is marked and nothing forgotten: takes what is dead, and lets the oldest go
    /// if it is a full one; everything, if the program has no room. Calls `died` with each object that it has not taken before.
    pub(crate) fn take(
        &self,
        (space, world): (&Space, &Stopped<'_>),
        kind: Collection,
        number: u64,
        wants_room: bool,
        mut died: impl FnMut(usize),
    ) {
        let number = number as u32 & !Taken::BY_PROGRAM;
        self.commit(space);
        let oldest = self.oldest.load(Relaxed);
        let first = match kind {
            Collection::Full if wants_room || self.budget == 0 => u32::MAX,
            Collection::Full => self.first_to_keep(number),
            Collection::Young => 0,
        };
        let (mut took, mut again) = (0, false);
        if kind == Collection::Full {
            again = first != oldest || self.freed.swap(0, Relaxed) != 0;
        }
        world.for_each_dead(kind, again, |object, bytes| {
            let cell = object.get();
            let taken = self.taken(cell);
            if taken == Taken(0) {
                died(cell);
                let is_programs = space.is_freed(object);
                // SAFETY: nothing leads to the object, and the heap is stopped.
                unsafe { (cell as *mut u8).write_bytes(CLOBBER, bytes) };
                if number >= first {
                    self.sanitizer.inspect(|sanitizer| sanitizer.poison(cell, bytes));
                    let by = if is_programs { FreedBy::Program } else { FreedBy::Collection(number.into()) };
                    self.set_taken(cell, Taken::new(number, by));
                    took += bytes;
                } else {
                    self.sites.forget(cell);
                }
                return number >= first;
            }
            let stays = taken.number() >= first;
            if !stays {
                self.sanitizer.inspect(|sanitizer| sanitizer.unpoison(cell, bytes));
                check_filled(cell, bytes, taken.by());
                self.set_taken(cell, Taken(0));
                self.sites.forget(cell);
            }
            stays
        });
        self.bytes_of(number).fetch_add(took, Relaxed);
        self.kept.fetch_add(took, Relaxed);
        if first == u32::MAX {
            self.let_go(number);
        }
    }

    /// Lets the oldest go until no more is kept than wanted, nor by too many collections; returns the first collection of which
    /// everything stays.
    fn first_to_keep(&self, number: u32) -> u32 {
        if self.are_many(number) {
            self.let_go(number - MANY / 2);
        }
        while self.kept.load(Relaxed) > self.budget && self.oldest.load(Relaxed) < number {
            self.let_go(self.oldest.load(Relaxed));
        }
        self.oldest.load(Relaxed)
    }

    /// Counts what the collections up to `last` have taken as gone.
    fn let_go(&self, last: u32) {
        for number in self.oldest.load(Relaxed)..=last {
            self.kept.fetch_sub(self.bytes_of(number).swap(0, Relaxed), Relaxed);
        }
        self.oldest.store(last + 1, Relaxed);
    }

    fn commit(&self, space: &Space) {
        let (committed, end) = (self.committed.load(Relaxed), space.committed_end() / GRANULE);
        if committed < end {
            if let Err(e) = self.taken.commit(committed..end) {
                corrupt(format_args!("no memory for the tables of verify mode: {e}"));
            }
            self.committed.store(end, Relaxed);
        }
    }
}

/// Ends the process if somebody has written into a cell after it was filled.
fn check_filled(cell: usize, bytes: usize, by: FreedBy) {
    const FILLED: usize = usize::from_ne_bytes([CLOBBER; WORD]);
    for at in (cell..cell + bytes / WORD * WORD).step_by(WORD) {
        // SAFETY: the cell is kept, and readable; a thread in a blocking region may write into it, which is its mistake.
        let value = unsafe { (at as *const usize).read_volatile() };
        if value != FILLED {
            corrupt(format_args!(
                "{value:#x} was written to {at:#x}, word {} of an object of {bytes} bytes that {by} before: was a pointer to it kept \
                 where no collection looks?",
                (at - cell) / WORD
            ));
        }
    }
}

impl fmt::Display for FreedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreedBy::Collection(number) => write!(f, "collection {number} had freed"),
            FreedBy::Program => write!(f, "the program had freed"),
        }
    }
}

impl Mapped for Quarantine {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.taken, &self.bytes_of, &self.sites], f);
    }
}
