//! What is weak, shared by all threads: ephemerons on a board, links, and a weak table. Their keys are objects of clusters; who owns one says
//! that it is dropped before nothing leads there any more. Any thread reads, keeps what it has read for some steps, and compares
//! it. Invariants: what no one has dropped is not cleared, what was cleared once stays so, and what a read has returned is whole as
//! long as a root keeps it; when all meet, all that was dropped is cleared, where only precise roots count.

use super::cluster::Outcome;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use heapwood_gc::{Handle, Heap, Mutator, ObjectType};
use heapwood_gc_testing::model::graph::Masked;
use heapwood_gc_testing::model::kinds::{Kinds, WORD};
use heapwood_gc_testing::model::pattern;
use heapwood_gc_testing::{Rng, words};
use heapwood_heap::{Address, ObjectRef, publication};
use heapwood_layout::TypeDescriptor;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// Ephemerons on the board, and links: the first half is short.
const BOARD: usize = 48;
const LINKS: usize = 32;

/// An object is its owner's; or waits to come back, and what is weak may be cleared or not, since a young collection that finds
/// it dead clears nothing of what is old; or is dropped for good.
const OWNED: u8 = 0;
const UNKNOWN: u8 = 1;
const DROPPED: u8 = 2;

/// An object, by what its words are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) at: Masked,
    pub(super) kind: usize,
    pub(super) serial: u64,
}

impl Known {
    /// Its first word that is no slot is whole. Others may store into its slots.
    pub(super) fn check(&self, kinds: &Kinds) -> Outcome {
        let (at, kind) = (self.at.addr(), &kinds.all[self.kind]);
        let data = (usize::from(kind.counted)..kind.words()).find(|&w| !kind.is_slot[w]);
        let wrong = data.filter(|&w| {
            // SAFETY: a word of an object that exists.
            unsafe { words::load((at as *const usize).add(w)) != pattern(self.serial, w) }
        });
        match wrong {
            Some(w) => Err(format!("word {w} of a {} at {at:#x} that was read is wrong", kind.name)),
            None => Ok(()),
        }
    }
}

/// That an object refers to, weakly, from one place.
#[derive(Clone)]
pub(super) struct Tie {
    fate: Arc<AtomicU8>,
    /// It lasts until the object is gone, and not only until a finaliser brings it back.
    is_long: bool,
    /// The value of the ephemeron.
    pub(super) value: Option<Known>,
}

/// What an object of a cluster has to do with all this.
#[derive(Default)]
pub(super) struct Ties {
    all: Vec<Tie>,
    pub(super) in_table: bool,
}

impl Ties {
    /// Values that live as long as the object.
    pub(super) fn values(&self) -> impl Iterator<Item = &Known> {
        self.all.iter().filter_map(|tie| tie.value.as_ref())
    }

    /// The object is dropped from now on. Calls `release` with values, which go.
    pub(super) fn drop_all(&mut self, release: impl FnMut(&Known) -> Outcome) -> Outcome {
        self.in_table = false;
        let all = core::mem::take(&mut self.all);
        all.iter().for_each(|tie| tie.fate.store(DROPPED, Ordering::Release));
        all.iter().filter_map(|tie| tie.value.as_ref()).try_for_each(release)
    }

    /// The object, which has no values and is not in the table, is dropped to come back.
    pub(super) fn leave(&mut self) {
        debug_assert!(self.values().next().is_none() && !self.in_table);
        self.all.iter().filter(|tie| !tie.is_long).for_each(|tie| tie.fate.store(UNKNOWN, Ordering::Release));
    }

    fn has_room(&self) -> bool {
        self.all.len() < 2
    }
}

struct Slot {
    key: Known,
    value: Option<Known>,
    fate: Arc<AtomicU8>,
    was_cleared: bool,
}

pub(super) struct Weaks {
    board: (Handle, ObjectType),
    table: Handle,
    slots: Vec<Mutex<Option<Slot>>>,
    links: Box<[AtomicUsize]>,
    /// Reads that found something, and those that found it cleared.
    found: AtomicUsize,
    cleared: AtomicUsize,
}

fn place(address: usize) -> NonNull<u8> {
    NonNull::new(address as *mut u8).expect("no object is null")
}

impl Weaks {
    pub(super) fn new(heap: &Heap, m: &Mutator) -> Self {
        let described = TypeDescriptor::masked(BOARD * WORD, &[u64::MAX >> (64 - BOARD)]).unwrap();
        let ty = heap.types().register(&described).unwrap();
        // SAFETY: objects that were made just now.
        let handle =
            |at: NonNull<u8>| unsafe { heap.roots().new_handle(Address::new(at.as_ptr() as usize)) }.unwrap();
        let board = (handle(m.allocate(ty).unwrap()), ty);
        let table = handle(m.weak_table().unwrap());
        Weaks {
            board,
            table,
            slots: (0..BOARD + LINKS).map(|_| Mutex::new(None)).collect(),
            links: (0..LINKS).map(|_| AtomicUsize::new(0)).collect(),
            found: AtomicUsize::new(0),
            cleared: AtomicUsize::new(0),
        }
    }

    /// Reads that found something, and that found it cleared.
    pub(super) fn read_so_far(&self) -> (usize, usize) {
        (self.found.load(Ordering::Relaxed), self.cleared.load(Ordering::Relaxed))
    }

    fn table(&self) -> NonNull<u8> {
        // SAFETY: the handle is held.
        place(unsafe { self.table.get() })
    }

    fn board_slot(&self, i: usize) -> (ObjectRef, *mut usize) {
        // SAFETY: as above.
        let board = unsafe { self.board.0.get() };
        (ObjectRef::new(board), (board + i * WORD) as *mut usize)
    }

    fn ephemeron(&self, i: usize) -> Option<NonNull<u8>> {
        // SAFETY: a word of the board.
        NonNull::new(publication::load(unsafe { AtomicUsize::from_ptr(self.board_slot(i).1) }) as *mut u8)
    }

    /// Puts an ephemeron that roots keep onto the board, if it has a place free; or makes a link.
    pub(super) fn tie(
        &self,
        m: &Mutator,
        key: Known,
        (ephemeron, value): (Option<usize>, Option<Known>),
        ties: &mut Ties,
        rng: &mut Rng,
    ) -> Outcome {
        let n = if ephemeron.is_some() { rng.below(BOARD) } else { BOARD + rng.below(LINKS) };
        let is_long = n >= BOARD + LINKS / 2;
        let mut slot = self.slots[n].lock().unwrap();
        if !ties.has_room() || slot.as_ref().is_some_and(|slot| slot.fate.load(Ordering::Acquire) != DROPPED)
        {
            return Ok(());
        }
        match ephemeron {
            Some(ephemeron) => {
                let (board, at) = self.board_slot(n);
                // SAFETY: a slot of the board, and an object.
                unsafe { m.barrier().write(board, at, Address::new(ephemeron)) };
            }
            None => {
                let word = &self.links[n - BOARD];
                word.store(!key.at.addr(), Ordering::Relaxed);
                // SAFETY: the words stay until `end`; the key is reachable, and is not freed.
                unsafe { m.add_link(word.as_ptr(), place(key.at.addr()), is_long) }
                    .map_err(|e| format!("no link was made: {e}"))?;
            }
        }
        let fate = Arc::new(AtomicU8::new(OWNED));
        *slot = Some(Slot { key, value, fate: fate.clone(), was_cleared: false });
        ties.all.push(Tie { fate, is_long, value });
        Ok(())
    }

    /// Reads some place: what it finds is to be kept by a root before the thread stops.
    pub(super) fn read(&self, m: &Mutator, rng: &mut Rng, keep: impl FnOnce(usize, Known)) -> Outcome {
        let n = rng.below(self.slots.len());
        let mut slot = self.slots[n].lock().unwrap();
        let Some(slot) = &mut *slot else { return Ok(()) };
        let mut found = self.look(m, n)?.map_or(0, |key| key.as_ptr() as usize);
        let mut wanted = slot.key;
        if found != 0
            && let Some(value) = slot.value
            && rng.one_in(2)
        {
            let ephemeron = self.ephemeron(n).expect("it is on the board");
            let read = m.ephemeron_value(ephemeron).map_err(|e| format!("a value: {e}"))?;
            // Where signals stop threads a collection may have come between, and cleared both.
            let may_be_gone = slot.fate.load(Ordering::Acquire) != OWNED;
            (found, wanted) = (read.map_or(0, |value| value.as_ptr() as usize), value);
            if found == 0 && !may_be_gone {
                return Err(format!("place {n} has a key, and no value: {wanted:x?}"));
            }
        }
        if found == 0 {
            slot.was_cleared = true;
            self.cleared.fetch_add(1, Ordering::Relaxed);
            return match slot.fate.load(Ordering::Acquire) {
                UNKNOWN | DROPPED => Ok(()),
                _ => Err(format!("place {n} was cleared early: {:x?}", slot.key)),
            };
        }
        if slot.was_cleared || found != wanted.at.addr() {
            return Err(format!("place {n} reads {found:#x}, after it was cleared or not {wanted:x?}"));
        }
        self.found.fetch_add(1, Ordering::Relaxed);
        keep(found, wanted);
        Ok(())
    }

    fn look(&self, m: &Mutator, n: usize) -> Result<Option<NonNull<u8>>, String> {
        match n.checked_sub(BOARD) {
            None => {
                self.ephemeron(n).map_or(Ok(None), |weak| m.ephemeron_key(weak).map_err(|e| e.to_string()))
            }
            Some(link) => m.read_link(self.links[link].as_ptr()).map_err(|e| e.to_string()),
        }
    }

    /// Puts a key into the table, reads it, or removes it: it is the caller's.
    pub(super) fn use_table(&self, m: &Mutator, key: usize, ties: &mut Ties, rng: &mut Rng) -> Outcome {
        let (table, of) = (self.table(), place(key));
        let has = |what: &str, found: bool, wanted: bool| match found == wanted {
            true => Ok(()),
            false => Err(format!("{what} {of:?} says {found}, and not {wanted}")),
        };
        match rng.below(4) {
            0 => {
                // SAFETY: a handle keeps the table, and a cluster the key.
                match unsafe { m.weak_table_set(table, of, if rng.one_in(2) { key } else { 0 }) } {
                    Ok(is_new) => {
                        has("setting", is_new, !ties.in_table)?;
                        ties.in_table = true;
                        Ok(())
                    }
                    Err(_) if m.heap().config().limit.is_some() => Ok(()),
                    Err(e) => Err(format!("nothing was put into the table: {e}")),
                }
            }
            1 => {
                let removed = m.weak_table_remove(table, of).map_err(|e| e.to_string())?;
                has("removing", removed, core::mem::take(&mut ties.in_table))
            }
            _ => {
                let found = m.weak_table_get(table, of).map_err(|e| e.to_string())?;
                has("getting", found.is_some(), ties.in_table)?;
                has("the value of", found.flatten().is_none_or(|value| value == of), true)
            }
        }
    }

    /// Removes a key that is in the table.
    pub(super) fn take_from_table(&self, m: &Mutator, key: usize, ties: &mut Ties) -> Outcome {
        match core::mem::take(&mut ties.in_table).then(|| m.weak_table_remove(self.table(), place(key))) {
            None | Some(Ok(true)) => Ok(()),
            Some(other) => Err(format!("removing {key:#x} gave {other:?}")),
        }
    }

    /// All objects of this: board, table, its array, and ephemerons, with their bytes. Nobody else uses them now.
    pub(super) fn objects(&self) -> HashSet<(usize, usize)> {
        let cell = |bytes| ObjectType::no_pointers(bytes).cell_size().expect("they are small");
        let (board, table) = (self.board_slot(0).0.get(), self.table().as_ptr() as usize);
        let mut all =
            HashSet::from([(board, self.board.1.cell_size().expect("it is small")), (table, cell(32))]);
        let mut add = |at: usize| {
            if at != 0 {
                all.insert((at, cell(32)));
            }
        };
        (0..BOARD).for_each(|i| add(self.ephemeron(i).map_or(0, |at| at.as_ptr() as usize)));
        // SAFETY: the third and fourth word of a table are the number of its places, and its array, of two words each.
        let word = |at: usize, i: usize| unsafe { words::load((at as *const usize).add(i)) };
        let (places, array) = (word(table, 2), word(table, 3));
        if array != 0 {
            (0..places).for_each(|i| add(word(array, 2 * i + 1)));
            all.insert((array, cell(16 * places)));
        }
        all
    }

    /// After full collections, while nobody else runs: the table has so many keys; and all that was dropped is cleared, where only
    /// precise roots count.
    pub(super) fn check(&self, m: &Mutator, in_table: usize, exact: bool) -> Outcome {
        let len = m.weak_table_len(self.table()).map_err(|e| e.to_string())?;
        if len < in_table || exact && len != in_table {
            return Err(format!("the table has {len} keys, and not {in_table}"));
        }
        for (n, slot) in self.slots.iter().enumerate() {
            let slot = slot.lock().unwrap();
            let Some(slot) = slot.as_ref() else { continue };
            let fate = slot.fate.load(Ordering::Acquire);
            let is_cleared = self.look(m, n)?.is_none();
            if is_cleared && fate == OWNED || exact && fate == DROPPED && !is_cleared {
                return Err(format!("place {n}, fate {fate}, cleared: {is_cleared}: {:x?}", slot.key));
            }
            if n >= BOARD && is_cleared && self.links[n - BOARD].load(Ordering::Relaxed) != 0 {
                return Err(format!("link {} is gone, and its word is there", n - BOARD));
            }
        }
        Ok(())
    }

    /// Lets go of all.
    pub(super) fn end(&self, heap: &Heap) -> Outcome {
        self.links.iter().for_each(|word| _ = heap.remove_link(word.as_ptr()));
        match [self.board.0, self.table].into_iter().all(|handle| heap.roots().free_handle(handle)) {
            true => Ok(()),
            false => Err("the handles of what is weak are not held".into()),
        }
    }
}
