//! The queues of a heap's finalisers. Each has two lists, of objects and of data, since data may be taken by any thread, and an
//! object only by one that keeps it alive. The first queue is the heap's own, and always there. Invariant: a queue that ends has
//! no entry and no registration, and its number is refused from then on.

use super::entries::{Entries, Entry, FinalizerKind, NONE, Stage};
use super::telling::{FinalizerCall, Telling, Tells};
use crate::error::Refusal;
use core::cell::Cell;
use core::ops::Range;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::threads::sync::Futex;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The most queues of a heap.
const MOST: usize = 1 << 12;
/// Queues are committed in steps of so many.
const STEP: usize = 64;

/// A queue's number, with the count of its uses: 0 is the heap's own queue.
pub(crate) type QueueNumber = u64;

/// Entries in the order in which they were queued.
#[derive(Default)]
#[repr(C)]
struct List {
    first: Cell<u32>,
    last: Cell<u32>,
}

impl List {
    fn append(&self, entries: &Entries, number: u32) {
        entries.get(number).next.set(NONE);
        match self.last.replace(number) {
            NONE => self.first.set(number),
            last => entries.get(last).next.set(number),
        }
    }

    fn take(&self, entries: &Entries) -> Option<u32> {
        let first = self.first.get();
        if first == NONE {
            return None;
        }
        self.first.set(entries.get(first).next.get());
        if self.first.get() == NONE {
            self.last.set(NONE);
        }
        Some(first)
    }
}

#[derive(Default)]
#[repr(C)]
struct Queue {
    objects: List,
    data: List,
    /// Registrations for it, and entries on it.
    registered: Cell<usize>,
    queued: Cell<usize>,
    /// Counts the uses of this number.
    generation: Cell<u32>,
    is_open: Cell<bool>,
    telling: Telling,
}

// SAFETY: it holds plain numbers, flags, and descriptors and functions of which 0 is none.
unsafe impl Zeroed for Queue {}

/// What a queue has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The object; 0 if only data was registered.
    pub(crate) object: usize,
    pub(crate) tag: usize,
}

/// The queues of one heap.
pub(super) struct Queues {
    all: MappedArray<Queue>,
    /// Numbers that were ever used.
    used: Cell<usize>,
    committed: Cell<usize>,
    /// Entries on all of them.
    queued: Cell<usize>,
}

impl Queues {
    /// The heap's own queue.
    pub(super) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let queues = Queues {
            all: MappedArray::new(kernel, MOST)?,
            used: Cell::new(0),
            committed: Cell::new(0),
            queued: Cell::new(0),
        };
        queues.commit(0)?;
        queues.used.set(1);
        queues.get(0).is_open.set(true);
        Ok(queues)
    }

    fn commit(&self, number: usize) -> Result<(), OsError> {
        if number >= self.committed.get() {
            self.all.commit(number..number + STEP)?;
            self.committed.set(number + STEP);
        }
        Ok(())
    }

    fn get(&self, number: usize) -> &Queue {
        debug_assert!(number < self.used.get());
        // SAFETY: queues in use are committed; their fields are cells, and the table is one thread's at a time.
        unsafe { &*self.all.at(number) }
    }

    fn named(&self, queue: QueueNumber) -> Option<&Queue> {
        let number = queue as u32 as usize;
        let found = (number < self.used.get()).then(|| self.get(number))?;
        (found.is_open.get() && u64::from(found.generation.get()) == queue >> 32).then_some(found)
    }

    /// The place of a queue, if there is one of that number.
    pub(super) fn place(&self, queue: QueueNumber) -> Result<u16, Refusal> {
        self.named(queue).map(|_| queue as u16).ok_or(Refusal::NoQueue { queue })
    }

    /// Makes one more.
    pub(super) fn add(&self) -> Result<QueueNumber, Refusal> {
        let used = self.used.get();
        let number = (1..used).find(|&number| !self.get(number).is_open.get()).unwrap_or(used);
        if number == MOST {
            return Err(Refusal::ManyQueues { most: MOST });
        }
        self.commit(number)?;
        self.used.set(used.max(number + 1));
        let queue = self.get(number);
        queue.is_open.set(true);
        queue.generation.set(queue.generation.get().wrapping_add(1).max(1));
        Ok(u64::from(queue.generation.get()) << 32 | number as u64)
    }

    /// Ends one; the heap's own stays.
    pub(super) fn end(&self, queue: QueueNumber) -> Result<(), Refusal> {
        let found = self.named(queue).filter(|_| queue != 0).ok_or(Refusal::NoQueue { queue })?;
        let (registered, queued) = (found.registered.get(), found.queued.get());
        if registered + queued != 0 {
            return Err(Refusal::QueueInUse { registered, queued });
        }
        if !found.telling.set_call(None) {
            return Err(Refusal::QueueCalled);
        }
        found.is_open.set(false);
        found.telling.end();
        Ok(())
    }

    /// Entries on all queues.
    pub(super) fn queued(&self) -> usize {
        self.queued.get()
    }

    /// Counts a registration.
    pub(super) fn registered(&self, entry: &Entry) {
        let count = &self.get(entry.queue.get().into()).registered;
        count.set(count.get() + 1);
    }

    /// Counts one less.
    pub(super) fn cancelled(&self, entry: &Entry) {
        let count = &self.get(entry.queue.get().into()).registered;
        count.set(count.get() - 1);
    }

    /// Puts an entry on its queue.
    pub(super) fn append(&self, entries: &Entries, number: u32) {
        let entry = entries.get(number);
        self.cancelled(entry);
        entry.stage.set(Stage::Queued);
        let queue = self.get(entry.queue.get().into());
        match entry.kind.get() {
            FinalizerKind::Data => &queue.data,
            FinalizerKind::AtOnce | FinalizerKind::Ordered => &queue.objects,
        }
        .append(entries, number);
        queue.queued.set(queue.queued.get() + 1);
        queue.telling.note();
        self.queued.set(self.queued() + 1);
    }

    /// How many entries a queue has, and the word that changes when it has more, with what it holds.
    pub(super) fn look(&self, queue: QueueNumber) -> Result<(usize, *const Futex, u32), Refusal> {
        let queue = self.named(queue).ok_or(Refusal::NoQueue { queue })?;
        let (word, seen) = queue.telling.news();
        Ok((queue.queued.get(), word, seen))
    }

    /// A queue's eventfd.
    pub(super) fn fd(&self, queue: QueueNumber) -> Result<i32, Refusal> {
        let queue = self.named(queue).ok_or(Refusal::NoQueue { queue })?;
        queue.telling.fd().map_err(|errno| Refusal::NoDescriptor { errno })
    }

    /// Sets a queue's function.
    pub(super) fn set_call(&self, queue: QueueNumber, call: Option<FinalizerCall>) -> Result<(), Refusal> {
        let queue = self.named(queue).ok_or(Refusal::NoQueue { queue })?;
        if queue.telling.set_call(call) { Ok(()) } else { Err(Refusal::QueueCalled) }
    }

    /// Takes the entry that has waited longest, objects before data, or of data alone.
    pub(super) fn take(
        &self,
        entries: &Entries,
        queue: QueueNumber,
        objects: bool,
    ) -> Result<Option<Taken>, Refusal> {
        let queue = self.named(queue).ok_or(Refusal::NoQueue { queue })?;
        let object = objects.then(|| queue.objects.take(entries)).flatten();
        let Some(number) = object.or_else(|| queue.data.take(entries)) else { return Ok(None) };
        queue.queued.set(queue.queued.get() - 1);
        self.queued.set(self.queued() - 1);
        let entry = entries.get(number);
        let is_data = entry.kind.get() == FinalizerKind::Data;
        let taken = Taken { object: if is_data { 0 } else { entry.object.get() }, tag: entry.tag.get() };
        entries.release(number);
        Ok(Some(taken))
    }

    /// Calls `f` with each object on a queue, by the entry that has it.
    pub(super) fn for_each_object(&self, entries: &Entries, mut f: impl FnMut(&Entry)) {
        for number in 0..self.used.get() {
            entries.for_each(self.get(number).objects.first.get(), |_, entry| f(entry));
        }
    }
}

impl Tells for Queues {
    fn tell(&self) -> bool {
        (0..self.used.get()).fold(false, |calls, number| self.get(number).telling.tell() | calls)
    }

    fn take_call(&self, depth: usize) -> Option<(usize, FinalizerCall)> {
        (0..self.used.get()).find_map(|at| self.get(at).telling.take_call(depth).map(|call| (at, call)))
    }

    fn is_called(&self) -> bool {
        (0..self.used.get()).any(|number| self.get(number).telling.is_called())
    }

    fn end_call(&self, at: usize, is_left: bool) {
        let queue = self.get(at);
        queue.telling.end_call(is_left && queue.queued.get() != 0);
    }

    fn leave_others(&self, here: &mut dyn Iterator<Item = usize>) {
        let queues = || (0..self.used.get()).map(|number| self.get(number));
        queues().for_each(|queue| queue.telling.leave_all(queue.queued.get() != 0));
        here.for_each(|at| self.get(at).telling.begin_call());
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        (0..self.used.get()).for_each(|number| self.get(number).telling.end());
    }
}

impl Mapped for Queues {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.all.for_each_mapping(f);
    }
}
