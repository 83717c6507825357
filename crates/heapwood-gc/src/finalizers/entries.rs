//! The entries of the table of finalisers: one for each registration, found by its number. Entries that were taken or cancelled
//! are used again; a count of uses tells an old number from a new one. Invariant: an entry is free, or on the list that its stage
//! names, or of an old object and on none.

use core::cell::Cell;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// Entries and buckets are committed in steps of so many.
pub(super) const STEP: usize = 1 << 10;

/// No entry.
pub(super) const NONE: u32 = 0;

/// What is queued when an object is dead, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FinalizerKind {
    /// Its tag alone: the object is not revived.
    #[default]
    Data = 0,
    /// The object, with all others that died.
    AtOnce = 1,
    /// The object, before those that it leads to.
    Ordered = 2,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    #[default]
    Free = 0,
    /// Registered, and its object was young: on that list.
    Young = 1,
    /// Registered, and its object is old.
    Old = 2,
    /// The same, and a marking beside the program had not marked the object: on the list of suspects.
    Suspect = 3,
    /// Its object is dead: on its queue.
    Queued = 4,
    /// Cancelled, and still on the list of young ones or of suspects.
    Cancelled = 5,
    /// In a pause: its object is dead.
    Dying = 6,
}

impl Stage {
    /// Whether its object is registered, and not known to be dead.
    pub(super) fn is_registered(self) -> bool {
        matches!(self, Stage::Young | Stage::Old | Stage::Suspect)
    }
}

/// A registration. The table's lock is held by whoever has one.
#[derive(Default)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) object: Cell<usize>,
    pub(super) tag: Cell<usize>,
    /// The next on its list.
    pub(super) next: Cell<u32>,
    /// The next in its bucket.
    pub(super) chain: Cell<u32>,
    /// Counts the uses of this entry, so that an old number is refused.
    pub(super) generation: Cell<u32>,
    pub(super) queue: Cell<u16>,
    pub(super) kind: Cell<FinalizerKind>,
    pub(super) stage: Cell<Stage>,
}

// SAFETY: all-zero bytes are a free entry; it holds plain numbers, and a kind and a stage that are 0.
unsafe impl Zeroed for Entry {}

const _: () = assert!(size_of::<Entry>() == ENTRY);

/// The bytes of an entry.
pub(crate) const ENTRY: usize = 32;

/// The entries of one heap.
pub(super) struct Entries {
    all: MappedArray<Entry>,
    /// Entries that were ever used; the first stands for none.
    used: Cell<usize>,
    committed: Cell<usize>,
    free: Cell<u32>,
}

impl Entries {
    /// Room for so many. Nothing is committed.
    pub(super) fn new(kernel: KernelRef, most: usize) -> Result<Self, OsError> {
        Ok(Entries {
            all: MappedArray::new(kernel, most)?,
            used: Cell::new(1),
            committed: Cell::new(0),
            free: Cell::new(NONE),
        })
    }

    /// The most there can be, and one.
    pub(super) fn most(&self) -> usize {
        self.all.len()
    }

    /// One more than the highest number that was ever used.
    pub(super) fn used(&self) -> usize {
        self.used.get()
    }

    /// Whether a number was ever used.
    pub(super) fn has(&self, number: u32) -> bool {
        number != NONE && (number as usize) < self.used()
    }

    pub(super) fn get(&self, number: u32) -> &Entry {
        debug_assert!((number as usize) < self.used());
        // SAFETY: entries in use are committed; their fields are cells, and the table is one thread's at a time.
        unsafe { &*self.all.at(number as usize) }
    }

    /// Commits what one more entry needs; false if there are as many as there can be.
    pub(super) fn make_room(&self) -> Result<bool, OsError> {
        let committed = self.committed.get();
        if self.free.get() == NONE && self.used() >= committed {
            let end = (committed + STEP).min(self.all.len());
            if end == committed {
                return Ok(false);
            }
            self.all.commit(committed..end)?;
            self.committed.set(end);
        }
        Ok(true)
    }

    /// Takes one for which there is room.
    pub(super) fn take(&self) -> u32 {
        match self.free.get() {
            NONE => {
                self.used.set(self.used() + 1);
                (self.used() - 1) as u32
            }
            free => {
                self.free.set(self.get(free).next.get());
                free
            }
        }
    }

    /// Gives one back that is on no list.
    pub(super) fn release(&self, number: u32) {
        let entry = self.get(number);
        entry.stage.set(Stage::Free);
        entry.next.set(self.free.replace(number));
    }

    /// Calls `f` with each of a list, which it may put onto another.
    pub(super) fn for_each(&self, mut head: u32, mut f: impl FnMut(u32, &Entry)) {
        while head != NONE {
            let entry = self.get(head);
            let next = entry.next.get();
            f(head, entry);
            head = next;
        }
    }
}

impl Mapped for Entries {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.all.for_each_mapping(f);
    }
}
