//! The table of finalisers: an entry for each registration, found by its number or by its object. Entries of objects that
//! were young when they were registered are on a list of their own until the next collection has looked at them; those that
//! wait for the program are on their queues. A collection takes the entries of dead objects off their lists by the links
//! ([`Table::look`]), lets those wait that others lead to ([`Table::let_wait`]), and queues the rest ([`Table::queue_objects`],
//! [`Table::queue_data`]); it needs no memory.
//! Invariants: an entry is on one list, on its queue, free, or of an old object; the index has those of registered objects, once it
//! was begun.

use super::entries::{Entries, Entry, FinalizerKind, NONE, STEP, Stage};
use super::index::Index;
use super::queues::{QueueNumber, Queues, Taken};
use super::telling::{FinalizerCall, Tells};
use crate::error::Refusal;
use core::cell::Cell;
use core::ops::Range;
use heapwood_os::{KernelRef, Mapped, OsError};

/// Entries whose mark words are on their way while one is looked at.
const AHEAD: usize = 16;

/// Why an entry was not cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelError {
    /// Its object is dead: the program takes it off the queue.
    Queued,
    /// There is none.
    NoEntry,
}

/// What is registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    pub(crate) object: usize,
    /// It is not on the list of young ones.
    pub(crate) is_old: bool,
    pub(crate) kind: FinalizerKind,
    pub(crate) queue: QueueNumber,
    pub(crate) tag: usize,
}

/// Which entries a collection looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Those of young objects: a young collection says nothing of others.
    Young,
    All,
    /// Young ones, and what a pass beside the program has left: suspects, and those it has not come to.
    Rest,
}

/// Lists of entries whose objects are dead, by kind; ordered ones that are ready come with those at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dying {
    /// How many entries were looked at to find them.
    pub(crate) looked: usize,
    ordered: u32,
    at_once: u32,
    data: u32,
}

impl Dying {
    /// Whether there are objects that may wait for others.
    pub(crate) fn has_ordered(&self) -> bool {
        self.ordered != NONE
    }

    /// Whether there are objects to revive.
    pub(crate) fn has_objects(&self) -> bool {
        self.at_once != NONE
    }
}

/// The finalisers of one heap.
pub(crate) struct Table {
    entries: Entries,
    /// Has all that is registered, or nothing as long as nobody has needed it: most tables have data alone, and are never asked.
    index: Index,
    is_indexed: Cell<bool>,
    /// Entries that are registered.
    registered: Cell<usize>,
    queues: Queues,
    young: Cell<u32>,
    suspects: Cell<u32>,
    /// Where the pass beside the program goes on: what is before it has been looked at in this marking.
    beside: Cell<usize>,
    /// Objects may be on a queue that are young, and that no marking has revived.
    has_young_queued: Cell<bool>,
    /// Objects may be on a queue that a marking beside the program has not in its snapshot, and that the program has besides.
    has_unseen_queued: Cell<bool>,
}

impl Table {
    /// A table for at most so many entries. Nothing of it is committed.
    pub(super) fn new(kernel: KernelRef, most: usize) -> Result<Self, OsError> {
        let most = most.max(STEP);
        Ok(Table {
            entries: Entries::new(kernel, most)?,
            index: Index::new(kernel, most)?,
            is_indexed: Cell::new(false),
            registered: Cell::new(0),
            queues: Queues::new(kernel)?,
            young: Cell::new(NONE),
            suspects: Cell::new(NONE),
            beside: Cell::new(1),
            has_young_queued: Cell::new(false),
            has_unseen_queued: Cell::new(false),
        })
    }

    /// Those that are registered, and those that wait on queues.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.registered.get(), self.queues.queued())
    }

    /// Its queues.
    pub(super) fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Registers an object. Returns the entry's number and generation.
    pub(super) fn add(&self, registration: Registration) -> Result<(u32, u32), Refusal> {
        let Registration { object, is_old, kind, queue, tag } = registration;
        let queue = self.queues.place(queue)?;
        if !self.entries.make_room()? {
            return Err(Refusal::ManyFinalizers { most: self.entries.most() - 1 });
        }
        if self.is_indexed.get() {
            self.index.make_room()?;
        }
        let number = self.entries.take();
        let entry = self.entries.get(number);
        entry.object.set(object);
        entry.tag.set(tag);
        entry.generation.set(entry.generation.get().wrapping_add(1).max(1));
        entry.queue.set(queue);
        entry.kind.set(kind);
        match is_old {
            true => entry.stage.set(Stage::Old),
            false => put(&self.young, number, entry, Stage::Young),
        }
        if self.is_indexed.get() {
            self.index.add(&self.entries, number);
        }
        self.registered.set(self.registered.get() + 1);
        self.queues.registered(entry);
        Ok((number, entry.generation.get()))
    }

    /// Fills the index, if that was not done before; it has all that is registered from then on. Without memory nothing changes.
    fn begin_index(&self) -> Result<(), OsError> {
        if self.is_indexed.get() {
            return Ok(());
        }
        self.index.make_room_for(self.registered.get())?;
        for number in 1..self.entries.used() as u32 {
            if self.entries.get(number).stage.get().is_registered() {
                self.index.add(&self.entries, number);
            }
        }
        self.is_indexed.set(true);
        Ok(())
    }

    /// An entry is registered no more.
    fn unregister(&self, number: u32) {
        if self.is_indexed.get() {
            self.index.remove(&self.entries, number);
        }
        self.registered.set(self.registered.get() - 1);
    }

    /// A registration of an object, if it has one.
    fn registration_of(&self, object: usize) -> Option<u32> {
        if self.registered.get() == 0 {
            return None;
        }
        match self.begin_index() {
            Ok(()) => self.index.find(&self.entries, object, |_| true),
            Err(_) => (1..self.entries.used() as u32).find(|&number| {
                let entry = self.entries.get(number);
                entry.object.get() == object && entry.stage.get().is_registered()
            }),
        }
    }

    /// Whether an object has an entry.
    pub(super) fn has(&self, object: usize) -> bool {
        let is_registered = self.registration_of(object).is_some();
        // What a collection has queued the program cannot name.
        let (mut is_queued, may_be) = (false, !is_registered && self.has_unseen_queued.get());
        if may_be {
            self.queues.for_each_object(&self.entries, |entry| is_queued |= entry.object.get() == object);
        }
        is_registered || is_queued
    }

    /// Whether objects may be on a queue that the marking which has ended has not seen there: those of this cycle, and of a marking
    /// beside the program.
    pub(super) fn has_unseen_queued(&self, pass: Pass) -> bool {
        self.has_young_queued.get() || pass == Pass::Rest && self.has_unseen_queued.get()
    }

    /// Cancels a registration; returns its tag.
    pub(super) fn cancel(&self, (number, generation): (u32, u32)) -> Result<usize, CancelError> {
        if !self.entries.has(number) || self.entries.get(number).generation.get() != generation {
            return Err(CancelError::NoEntry);
        }
        let entry = self.entries.get(number);
        match entry.stage.get() {
            Stage::Young | Stage::Suspect => {
                self.unregister(number);
                entry.stage.set(Stage::Cancelled);
            }
            Stage::Old => {
                self.unregister(number);
                self.entries.release(number);
            }
            Stage::Queued => return Err(CancelError::Queued),
            _ => return Err(CancelError::NoEntry),
        }
        self.queues.cancelled(entry);
        Ok(entry.tag.get())
    }

    /// Cancels a registration of an object, if it has one; returns its tag.
    pub(super) fn cancel_of(&self, object: usize) -> Option<usize> {
        let number = self.registration_of(object)?;
        self.cancel((number, self.entries.get(number).generation.get())).ok()
    }

    /// Takes the entry that has waited longest on a queue, objects before data, or of data alone.
    pub(super) fn next(&self, queue: QueueNumber, objects: bool) -> Result<Option<Taken>, Refusal> {
        let taken = self.queues.take(&self.entries, queue, objects);
        if self.queues.queued() == 0 {
            self.has_unseen_queued.set(false);
        }
        taken
    }

    /// Calls `f` with the address of each word that holds an object on a queue; in a young collection only if some may be young.
    pub(super) fn for_each_root(&self, of_young: bool, mut f: impl FnMut(usize)) {
        if !of_young || self.has_young_queued.get() {
            self.queues.for_each_object(&self.entries, |entry| f(entry.object.as_ptr() as usize));
        }
    }

    /// Takes the entries of dead objects off their lists; afterwards the others are those of old objects. `prefetch` is told of objects
    /// that are looked at soon.
    pub(super) fn look(
        &self,
        pass: Pass,
        is_dead: &mut dyn FnMut(usize) -> bool,
        prefetch: impl Fn(usize),
    ) -> Dying {
        let mut dying = Dying::default();
        let mut look = |number: u32, entry: &Entry| {
            dying.looked += 1;
            match entry.stage.get() {
                Stage::Young | Stage::Suspect | Stage::Old if is_dead(entry.object.get()) => {
                    let list = match entry.kind.get() {
                        FinalizerKind::Data => &mut dying.data,
                        FinalizerKind::AtOnce => &mut dying.at_once,
                        FinalizerKind::Ordered => &mut dying.ordered,
                    };
                    entry.stage.set(Stage::Dying);
                    entry.next.set(core::mem::replace(list, number));
                }
                Stage::Young | Stage::Suspect => entry.stage.set(Stage::Old),
                Stage::Cancelled => self.entries.release(number),
                _ => {}
            }
        };
        self.entries.for_each(self.young.replace(NONE), &mut look);
        self.has_young_queued.set(false);
        let first = match pass {
            Pass::Young => return dying,
            Pass::All => 1,
            Pass::Rest => self.beside.replace(1),
        };
        self.entries.for_each(self.suspects.replace(NONE), &mut look);
        for number in first..self.entries.used() {
            if number + AHEAD < self.entries.used() {
                let ahead = self.entries.get((number + AHEAD) as u32);
                if ahead.stage.get() == Stage::Old {
                    prefetch(ahead.object.get());
                }
            }
            look(number as u32, self.entries.get(number as u32));
        }
        dying
    }

    /// Beside the program, in a marking that has marked all it will: puts entries of old objects that it has not marked onto the list of
    /// suspects, at most so many entries at once; whether some are left.
    pub(super) fn suspect(&self, most: usize, is_unmarked: impl Fn(usize) -> bool) -> bool {
        let (first, end) = (self.beside.get(), self.entries.used());
        let last = end.min(first + most);
        for number in first..last {
            let entry = self.entries.get(number as u32);
            if entry.stage.get() == Stage::Old && is_unmarked(entry.object.get()) {
                put(&self.suspects, number as u32, entry, Stage::Suspect);
            }
        }
        self.beside.set(last);
        last < end
    }

    /// A marking beside the program begins: none is known to be alive.
    pub(crate) fn begin_marking(&self) {
        self.beside.set(1);
    }

    /// Calls `f` with each dying object that may wait for others.
    pub(super) fn for_each_ordered(&self, dying: &Dying, f: &mut dyn FnMut(usize)) {
        self.entries.for_each(dying.ordered, |_, entry| f(entry.object.get()));
    }

    /// Lets those of them wait that are not ready: they are registered as before.
    pub(super) fn let_wait(&self, dying: &mut Dying, mut is_ready: impl FnMut(usize) -> bool) {
        let ordered = core::mem::replace(&mut dying.ordered, NONE);
        self.entries.for_each(ordered, |number, entry| match is_ready(entry.object.get()) {
            true => entry.next.set(core::mem::replace(&mut dying.at_once, number)),
            false => entry.stage.set(Stage::Old),
        });
    }

    /// Calls `f` with the address of each word that holds an object which comes.
    pub(super) fn for_each_dying(&self, dying: &Dying, mut f: impl FnMut(usize)) {
        self.entries.for_each(dying.at_once, |_, entry| f(entry.object.as_ptr() as usize));
    }

    /// Calls `f` with each dead object, of data, too.
    pub(super) fn for_each_dead(&self, dying: &Dying, mut f: impl FnMut(usize)) {
        for head in [dying.ordered, dying.at_once, dying.data] {
            self.entries.for_each(head, |_, entry| f(entry.object.get()));
        }
    }

    fn queue(&self, number: u32) {
        self.unregister(number);
        self.queues.append(&self.entries, number);
    }

    /// Queues objects that come.
    pub(super) fn queue_objects(&self, dying: &Dying) {
        self.entries.for_each(dying.at_once, |number, _| self.queue(number));
    }

    /// Queues data whose object is dead still, since no other finaliser has revived it.
    pub(super) fn queue_data(&self, dying: &Dying, is_dead: &mut dyn FnMut(usize) -> bool) {
        self.entries.for_each(dying.data, |number, entry| match is_dead(entry.object.get()) {
            true => self.queue(number),
            false => entry.stage.set(Stage::Old),
        });
    }

    /// Queues all that is registered.
    pub(super) fn queue_all(&self) {
        let dying = self.look(Pass::All, &mut |_| true, |_| ());
        for head in [dying.ordered, dying.at_once, dying.data] {
            self.entries.for_each(head, |number, _| self.queue(number));
        }
        self.has_young_queued.set(true);
        self.has_unseen_queued.set(true);
    }

    /// Checks the table against itself: what is wrong with it, if anything is.
    pub(super) fn check(&self) -> Option<&'static str> {
        let (mut registered, mut queued) = (0, 0);
        for number in 1..self.entries.used() {
            let entry = self.entries.get(number as u32);
            match entry.stage.get() {
                Stage::Young | Stage::Old | Stage::Suspect => {
                    registered += 1;
                    let (index, object) = (&self.index, entry.object.get());
                    if self.is_indexed.get()
                        && index.find(&self.entries, object, |found| found == number as u32).is_none()
                    {
                        return Some("a registered finaliser is not in the index");
                    }
                }
                Stage::Queued => queued += 1,
                Stage::Free | Stage::Cancelled => {}
                _ => return Some("a finaliser was left between two lists by a pause"),
            }
        }
        ((registered, queued) != self.counts()).then_some("finalisers were lost or counted twice")
    }
}

/// Puts an entry onto a list.
fn put(list: &Cell<u32>, number: u32, entry: &Entry, stage: Stage) {
    entry.stage.set(stage);
    entry.next.set(list.replace(number));
}

impl Tells for Table {
    fn tell(&self) -> bool {
        self.queues.tell()
    }

    fn take_call(&self, depth: usize) -> Option<(usize, FinalizerCall)> {
        self.queues.take_call(depth)
    }

    fn is_called(&self) -> bool {
        self.queues.is_called()
    }

    fn end_call(&self, at: usize, is_left: bool) {
        self.queues.end_call(at, is_left);
    }

    fn leave_others(&self, here: &mut dyn Iterator<Item = usize>) {
        self.queues.leave_others(here);
    }
}

impl Mapped for Table {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.entries.for_each_mapping(f);
        self.index.for_each_mapping(f);
        self.queues.for_each_mapping(f);
    }
}
