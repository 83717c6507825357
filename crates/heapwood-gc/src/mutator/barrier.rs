//! The write barrier: every store of a pointer into an object that exists already goes through it.
//!
//! Such a store names the object, the slot and the value. Inline code tests one flag, which has a bit for each reason
//! to take the slow path:
//!
//! | bit | needed by | what the slow path does |
//! |---|---|---|
//! | [`MARK`] | a full concurrent marking | shades the object in the slot before it is overwritten |
//! | [`YOUNG`] | young collections | remembers a slot of an old object that gets a pointer to a young one |
//! | [`VERIFY`] | verify mode | notes the store, so that the verifier finds stores without the barrier |
//!
//! Most stores go into young objects; the table of young pages lets them pass. A thread's flag changes while the thread
//! is stopped. Invariants: only such stores change pointer slots of objects that a collection has seen. Stores that
//! initialise a new object need no barrier until the next poll or allocation. A collection comes before a store's slow
//! path or after the store, never between. docs/design/barrier.md has the measurements.

use super::Mutator;
use super::any_word::any_word;
use super::store_buffer::StoreBuffer;
use crate::inject::Fault;
use crate::mark::{ShadeLog, Shading};
use crate::state::barrier_bits::{MARK, VERIFY, YOUNG};
use core::ops::Range;
use core::sync::atomic::Ordering;
use heapwood_heap::{Address, ObjectRef, ScanKind, Space, Span, publication};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::threads::watched::AtomicUsize;

impl ShadeLog for Mutator {
    /// In a no-preempt region, for which a fork waits: the child of a process finds whole chunks. A signal of another heap must
    /// not stop a thread that holds the log's lock, either.
    #[inline]
    fn note(&self, object: usize) -> bool {
        let _no_preempt = self.record().no_preempt();
        self.shades.push(self.shared().marking_log(), object)
    }
}

/// The write barrier of a mutator.
#[derive(Clone, Copy)]
pub struct WriteBarrier<'m>(&'m Mutator);

impl Mutator {
    /// Its write barrier.
    #[inline(always)]
    pub fn barrier(&self) -> WriteBarrier<'_> {
        WriteBarrier(self)
    }
}

impl<'m> WriteBarrier<'m> {
    /// The flag: its bits are the reasons to take the slow path.
    #[inline(always)]
    pub(crate) fn flag(self) -> u32 {
        self.0.barrier.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn stores(self) -> &'m StoreBuffer {
        self.0.stores.buffer()
    }

    #[inline(always)]
    fn space(self) -> &'m Space {
        self.0.shared().space()
    }

    /// Stores `value` into `slot` of the object at `object`.
    ///
    /// # Safety
    /// 1. `object` is the first byte of an object of this heap that exists, and `slot` an aligned word in it.
    /// 2. `value` is what the slot may hold: null, an address outside the heap, or an object's address.
    #[inline(always)]
    pub unsafe fn write(self, object: ObjectRef, slot: *mut usize, value: Address) {
        if self.flag() != 0 {
            self.before_store(Some(object), slot.into(), value);
        }
        // SAFETY: contract 1.
        publication::store(unsafe { AtomicUsize::from_ptr(slot) }, value.get());
    }

    /// Stores `value` into `slot`. The barrier finds the slot's object from its address if it must note the store. A
    /// slot outside the heap is part of a value that is not yet in it, and needs no barrier.
    ///
    /// # Safety
    /// 1. `slot` is an aligned word of an object of this heap, or outside it.
    /// 2. As for [`WriteBarrier::write`], for the value.
    #[inline(always)]
    pub unsafe fn write_inside(self, slot: *mut usize, value: Address) {
        if self.flag() != 0 {
            self.before_store(None, slot.into(), value);
        }
        // SAFETY: contract 1.
        publication::store(unsafe { AtomicUsize::from_ptr(slot) }, value.get());
    }

    /// Whether stores need nothing but themselves. It stays so until the thread polls or allocates.
    #[inline(always)]
    pub fn is_off(self) -> bool {
        self.flag() == 0
    }

    /// Stores the words of a value, of which those with a bit in `pointers` may be pointers. The barrier finds the object, as in
    /// [`WriteBarrier::write_inside`].
    ///
    /// # Safety
    /// 1. As for [`WriteBarrier::write_inside`], for each slot from `slot` on with a bit and its word of the value. The other words are words of
    ///    the same object.
    /// 2. The value has this many words, at most 64.
    #[cold]
    #[inline(never)]
    pub unsafe fn write_words_inside(
        self,
        slot: *mut usize,
        value: *const usize,
        words: usize,
        mut pointers: u64,
    ) {
        let is_young_only = self.flag() == YOUNG;
        if is_young_only {
            publication::observe();
            // Most cells are in young objects, of which nothing is remembered.
            if !self.stores().count() {
                pointers = 0;
                self.end_remembering();
            } else if !self.0.stores.is_remembered(self.space(), slot as usize) {
                pointers = 0;
            }
            publication::publish();
        }
        for i in 0..words {
            // SAFETY: contract 2.
            let (slot, word) = unsafe { (slot.add(i), any_word(value.add(i))) };
            if pointers >> i & 1 == 1 {
                if !is_young_only {
                    // SAFETY: contract 1.
                    unsafe { self.write_inside(slot, Address::new(word)) };
                    continue;
                }
                if self.0.stores.may_be_remembered(self.space(), None, slot as usize, word) {
                    self.before_rare_store(YOUNG, None, slot.into(), Address::new(word));
                }
            }
            // SAFETY: contract 1.
            unsafe { AtomicUsize::from_ptr(slot) }.store(word, Ordering::Relaxed);
        }
    }

    /// Copies `words` words from `source` to the slots from `slot` on; the two may overlap.
    ///
    /// # Safety
    /// 1. As for [`WriteBarrier::write`], for every slot and its value.
    /// 2. The source is readable.
    pub unsafe fn copy(self, object: ObjectRef, slot: *mut usize, source: *const usize, words: usize) {
        let barrier = self.flag();
        publication::observe();
        if barrier & MARK != 0 {
            self.shade_overwritten(Some(object), slot as usize, words);
        }
        if barrier & VERIFY != 0 {
            self.note(object, slot.into(), words, Address::new(0));
        }
        let remembers = barrier & YOUNG != 0 && self.0.stores.is_remembered(self.space(), slot as usize);
        // One fence for all stores.
        publication::publish();
        // Word by word and relaxed: a concurrent marker must never read a torn pointer.
        let copy = |i: usize| {
            // SAFETY: contracts 1 and 2.
            unsafe {
                let value = AtomicUsize::from_ptr(source.add(i).cast_mut()).load(Ordering::Relaxed);
                if remembers {
                    self.remember(Some(object), slot.add(i) as usize, value);
                }
                AtomicUsize::from_ptr(slot.add(i)).store(value, Ordering::Relaxed);
            }
        };
        if (slot as usize) <= source as usize {
            (0..words).for_each(copy);
        } else {
            (0..words).rev().for_each(copy);
        }
    }

    /// Stores `value` into `slot` if it holds `expected`; otherwise returns the word that it holds.
    ///
    /// # Safety
    /// 1. As for [`WriteBarrier::write`].
    #[inline]
    pub unsafe fn cas(
        self,
        object: ObjectRef,
        slot: *mut usize,
        expected: Address,
        value: Address,
    ) -> Result<(), Address> {
        if self.flag() != 0 {
            self.before_store(Some(object), slot.into(), value);
        }
        // SAFETY: contract 1.
        let slot = unsafe { AtomicUsize::from_ptr(slot) };
        slot.compare_exchange(expected.get(), value.get(), Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(Address::new)
    }

    /// Announces that the caller is about to write `words` words of `object`, from `start` on, for the first time since
    /// it was allocated, with plain stores. It is for an object that is filled between allocations, which collections
    /// may have seen. The stores follow before the next poll or allocation. The words held zeros, so an active marking
    /// misses nothing.
    #[inline(always)]
    pub fn note_init(self, object: ObjectRef, start: *mut usize, words: usize) {
        if self.flag() != 0 {
            self.before_init(object, start.into(), words);
        }
    }

    /// The same for words whose object is found from their address, if the barrier needs it.
    #[inline(always)]
    pub fn note_init_inside(self, start: *mut usize, words: usize) {
        if self.flag() != 0
            && let Some(found) = self.0.find_known(start as usize)
        {
            self.before_init(found.base, start.into(), words);
        }
    }

    /// Takes over the heap's flag, and the limits of the cycle that begins. The thread is stopped, or about to be
    /// attached.
    pub(crate) fn begin_cycle(self) {
        let state = self.0.shared();
        self.0.stores.begin_cycle(state.space().young_pages(), state.remembered().most_stores());
        self.0.barrier.store(state.barrier(), Ordering::Relaxed);
    }

    /// Makes its entries readable, as long as the thread is stopped. Returns the number of stores that took the slow
    /// path.
    pub(crate) fn close_stores(self) -> u64 {
        if self.0.shared().faults().fails(Fault::RecordLost) {
            self.stores().lose();
        }
        self.stores().close();
        self.stores().counted()
    }

    /// Hands in what it has shaded for an active marking. Its thread is stopped.
    pub(crate) fn close_shaded(self) {
        let state = self.0.shared();
        if state.faults().fails(Fault::ShadedLost) {
            self.0.shades.lose();
        }
        self.0.shades.hand_in(state.marking_log());
    }

    /// Forgets all entries: a collection has ended.
    pub(crate) fn forget_stores(self) {
        self.stores().forget();
    }

    /// Announces that objects are about to be allocated in cells that the program freed. Such a cell may count as old at
    /// once, and stores that initialise the object skip the barrier: so the whole object is remembered and noted. An
    /// active marking does not scan it: the cell held zeros, and the values stored into it were reachable when the
    /// marking began, or are newer. The flag changes in a stop, and a stop takes cells back that wait in a buffer.
    #[inline]
    pub(crate) fn remember_reused(self, cells: impl Iterator<Item = usize>) {
        cells.for_each(|cell| self.remember_reused_cell(cell));
    }

    fn remember_reused_cell(self, cell: usize) {
        let (space, at) = (self.space(), Address::new(cell));
        let barrier = self.flag();
        if !space.is_old(at) {
            return;
        }
        if barrier & MARK != 0 {
            Shading::of(self.0.shared(), self.0).reused(cell);
        }
        if barrier & YOUNG != 0 {
            self.stores().object(self.0.shared().remembered(), cell);
        }
        if barrier & VERIFY != 0 {
            let bytes = space.find_span(at).map_or(0, Span::object_bytes);
            self.note(ObjectRef::new(cell), at, bytes / WORD, Address::new(0));
        }
    }

    /// Remembers words of an old object for the next young collection.
    pub(crate) fn remember_words(self, words: Range<usize>) {
        if self.flag() & YOUNG != 0 && !words.is_empty() {
            self.stores().words(self.0.shared().remembered(), words.start, words.end);
        }
    }

    /// Whether a full marking is active.
    pub(crate) fn is_concurrent_marking(self) -> bool {
        self.flag() & MARK != 0
    }

    /// The slow path of the barrier. Out of line, so that a program's stores neither copy it nor save registers for it.
    /// The path that most stores take saves no registers either.
    #[cold]
    #[inline(never)]
    fn before_store(self, object: Option<ObjectRef>, slot: Address, value: Address) {
        let barrier = self.flag();
        publication::observe();
        if barrier != YOUNG {
            return self.before_rare_store(barrier, object, slot, value);
        }
        if self.may_be_remembered(object, slot.get(), value.get()) {
            match object.is_some() && !self.space().layouts().has_trace_functions() {
                // The barrier need not know more.
                true => self.remember_slot(slot.get()),
                false => self.before_rare_store(barrier, object, slot, value),
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn before_rare_store(self, barrier: u32, object: Option<ObjectRef>, slot: Address, value: Address) {
        if barrier & MARK != 0 {
            self.shade_overwritten(object, slot.get(), 1);
        }
        if barrier & YOUNG != 0 && self.0.stores.is_remembered(self.space(), slot.get()) {
            self.remember(object, slot.get(), value.get());
        }
        if barrier & VERIFY != 0
            && let Some(object) = object.or_else(|| self.space().find(slot).map(|found| found.base))
        {
            self.note(object, slot, 1, value);
        }
    }

    /// Whether this store may have to be remembered. After too many stores the answer is always no.
    #[inline(always)]
    fn may_be_remembered(self, object: Option<ObjectRef>, slot: usize, value: usize) -> bool {
        if !self.stores().count() {
            return self.end_remembering();
        }
        self.0.stores.may_be_remembered(self.space(), object, slot, value)
    }

    /// Ends remembering for this thread and cycle: the next collection is a full one.
    #[cold]
    fn end_remembering(self) -> bool {
        self.0.shared().remembered().overflow();
        let barrier = self.flag();
        self.0.barrier.store(barrier & !YOUNG, Ordering::Relaxed);
        false
    }

    #[cold]
    #[inline(never)]
    fn before_init(self, object: ObjectRef, start: Address, words: usize) {
        let barrier = self.flag();
        publication::observe();
        let (space, at) = (self.space(), start.get());
        if barrier & YOUNG != 0
            && self.0.stores.is_remembered(self.space(), at)
            && space.may_be_old(object.into())
        {
            self.stores().words(self.0.shared().remembered(), at, at + words * WORD);
        }
        if barrier & VERIFY != 0 {
            self.note(object, start, words, Address::new(0));
        }
    }

    /// Shades the objects to which `words` words from `slot` on refer, before they are overwritten. A full marking
    /// is active. Objects allocated since it began need no shading; most of them
    /// pass by the table of young pages. Only an object's trace function knows what its words mean: so the first store
    /// into such an object shades all objects that it refers to. Each mutator does that once, because knowing of the
    /// others would take a lock.
    #[cold]
    #[inline(never)]
    fn shade_overwritten(self, object: Option<ObjectRef>, slot: usize, words: usize) {
        if !self.0.stores.is_remembered(self.space(), slot)
            || self.0.shared().faults().fails(Fault::ShadeSkipped)
        {
            return;
        }
        let (state, space) = (self.0.shared(), self.space());
        let mut entry = space.entry_at(Address::new(slot));
        let mut base = object;
        if entry.is(ScanKind::Trace) || entry.is(ScanKind::Numbered) {
            base = base.or_else(|| space.find_old(Address::new(slot)));
            match base.filter(|&base| space.is_old(base.into())) {
                Some(base) if entry.is(ScanKind::Numbered) => {
                    // SAFETY: an old object exists, and lies in such a span.
                    entry = unsafe { space.numbered_entry(base) }
                }
                Some(_) => {}
                None => return,
            }
        }
        let mut shading = Shading::of(state, self.0);
        let old = |i: usize| {
            // SAFETY: the words are slots of an object of this heap; other threads may store into them.
            publication::load(unsafe { AtomicUsize::from_ptr((slot + i * WORD) as *mut usize) })
        };
        match entry.kind() {
            None | Some(ScanKind::NoPointers) => {}
            Some(ScanKind::Trace) => {
                let (Some(base), Some(trace)) = (base, space.layouts().shape(entry.shape()).trace()) else {
                    return;
                };
                if self.stores().is_first(base.get()) {
                    let span = space.find_span(base.into()).expect("an object lies in a span");
                    // SAFETY: the object exists, and its shape has this function.
                    unsafe { shading.all_of(base, span.object_bytes() / WORD * WORD, trace) };
                }
            }
            Some(kind) if kind.has_ambiguous_words() => (0..words).for_each(|i| shading.word(old(i))),
            Some(_) => (0..words).for_each(|i| shading.object(old(i))),
        }
    }

    /// Remembers a slot that is about to hold `value`, if the value is young and the slot's object is old. Of an object
    /// with a trace function, which alone knows what its words mean, it remembers the whole object.
    fn remember(self, object: Option<ObjectRef>, slot: usize, value: usize) {
        let space = self.space();
        let entry = space.entry_at(Address::new(slot));
        let is_opaque = entry.is(ScanKind::Trace) || entry.is(ScanKind::Numbered);
        let value = Address::new(value);
        let is_known = || space.is_old(value) || space.arenas().find(value).is_some();
        if !is_opaque && (!space.contains(value) || is_known()) {
            return;
        }
        let set = self.0.shared().remembered();
        if set.has_overflowed() {
            return;
        }
        let object = match object {
            Some(object) => object,
            None => {
                match space.find_span(Address::new(slot)).and_then(|span| span.cell_in(Address::new(slot))) {
                    Some(cell) => ObjectRef::new(cell.get()),
                    None => return,
                }
            }
        };
        if !space.may_be_old(object.into()) {
            return;
        }
        match is_opaque {
            false => self.remember_slot(slot),
            true if self.0.shared().faults().fails(Fault::StoreNotRecorded) => {}
            true => self.stores().object(set, object.get()),
        }
    }

    /// Remembers the slot of an old object that is about to refer to a young one.
    #[cold]
    #[inline(never)]
    fn remember_slot(self, slot: usize) {
        let (set, faults) = (self.0.shared().remembered(), self.0.shared().faults());
        if !set.has_overflowed() && !faults.fails(Fault::StoreNotRecorded) {
            self.stores().slot(set, slot);
        }
    }

    /// In verify mode: notes these words of an object as stored through the barrier; the first will hold `value`, if that is not 0.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(self, object: ObjectRef, slot: Address, words: usize, value: Address) {
        // `free` may wait for the log's lock, so it waits in a no-preempt region: a signal of another heap must not
        // stop a thread that holds the lock.
        let _no_preempt = self.0.record().no_preempt();
        if let Some(stores) = self.0.shared().stores() {
            let quarantine = self.0.shared().quarantine();
            if let Some(by) =
                quarantine.and_then(|quarantine| quarantine.freed_by(self.space(), object.into()))
            {
                corrupt(format_args!("a store names {object:#x} as its object, which {by}"));
            }
            stores.look_at_value(self.space(), slot, value);
            stores.note(self.space(), object, slot, words);
        }
    }
}
