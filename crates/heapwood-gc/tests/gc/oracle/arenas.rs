//! What a program does with arenas: opens them, puts values, arrays, texts and values of the heap into them, and closes, empties or
//! leaves them, early or late. Their values are objects of the model like others, linked both ways by the program's other steps.
//! Invariant: when the values of a borrowed arena go, nothing that the collector reads as a pointer leads to them; of another, words
//! are left behind, but in verify mode, which reports those.

use super::check::Outcome;
use super::world::World;
use core::ptr::NonNull;
use heapwood_gc::{AllocError, Mutator};
use heapwood_gc_testing::Arena;
use heapwood_gc_testing::model::graph::{Id, Masked, Word};
use heapwood_gc_testing::model::kinds::{Slots, Storage, WORD};
use heapwood_heap::{Address, ArenaKind, ObjectRef, ScanKind};

/// How many arenas are open at once, at most.
const MOST_OPEN: usize = 6;
/// So many words are cleared so that a borrowed arena can be closed; if there are more it is left.
const MOST_CLEARED: usize = 60;

/// An arena that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) arena: Arena,
    pub(crate) number: u64,
    pub(crate) header: Id,
    kind: ArenaKind,
}

/// How an arena ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    Emptied,
    Left,
}

impl World {
    /// An arena is to be opened, as there are few.
    pub(crate) fn wants_arena(&mut self) -> bool {
        self.arenas.is_empty() || self.arenas.len() < MOST_OPEN && self.rng.one_in(12)
    }

    /// Opens an arena; returns where its header is. May collect.
    pub(crate) fn open_arena(&mut self) -> Result<(Arena, ArenaKind), AllocError> {
        let kind = [ArenaKind::Borrowed, ArenaKind::Escaping][self.rng.below(2)];
        let header = self.mutator().arenas().open(kind, self.next_zeroes())?;
        self.opened += 1;
        Ok((Arena(header), kind))
    }

    /// Whether the next arena hands out zeros.
    fn next_zeroes(&self) -> bool {
        self.opened.is_multiple_of(3)
    }

    /// It is one of the model's from now on.
    pub(crate) fn add_arena(&mut self, (arena, kind): (Arena, ArenaKind)) {
        let at = arena.0.as_ptr() as usize;
        let old = self.heap.space().is_old(Address::new(at));
        let (header, number) = (self.model.add(at, self.kinds.header, old), arena.header().number());
        self.model.arenas.insert(number, Default::default());
        self.arenas.push(Open { arena, number, header, kind });
    }

    /// Room for values of a kind in an open arena. May collect.
    pub(crate) fn room_in_arena(
        &mut self,
        open: usize,
        kind: usize,
        count: usize,
    ) -> Result<usize, AllocError> {
        let (arena, m) = (self.arenas[open].arena, self.mutator());
        match self.kinds.all[kind].lies {
            Storage::Values(values) if count > 1 => arena.zeros(m, values, count),
            Storage::Values(values) => arena.peek(m, values, 1),
            Storage::Data(align) => arena
                .data(m, self.kinds.all[kind].ty.size(), align)
                .inspect(|at| assert!(at.is_multiple_of(align), "data at {at:#x}, aligned by {align}")),
            Storage::InHeap | Storage::Header => unreachable!("it lies in the heap"),
        }
    }

    /// Writes values where there is room, some of whose slots refer to what `walk` finds.
    pub(crate) fn write_values(
        &mut self,
        (open, kind): (usize, usize),
        (at, count): (usize, usize),
        mut walk: impl FnMut(&mut Self) -> Option<Id>,
    ) -> Vec<Id> {
        let (number, bytes) = (self.arenas[open].number, self.kinds.all[kind].ty.size());
        let mut made = Vec::new();
        for i in 0..count {
            let at = at + i * bytes;
            // Whatever a young collection finds of arenas it keeps.
            let id = self.model.add(at, kind, true);
            self.model.get_mut(id).arena = Some(number);
            let zeroed = count > 1;
            for w in 0..self.kinds.all[kind].words() {
                let is_slot = self.kinds.all[kind].is_slot[w];
                let value = if is_slot { 0 } else { self.model.get(id).pattern(w as u32) };
                // SAFETY: the room is this value's.
                unsafe { (at as *mut usize).add(w).write_unaligned(value) };
            }
            for _ in 0..self.rng.below(4).min(self.kinds.all[kind].slots.len()) {
                let slots = &self.kinds.all[kind].slots;
                let word = slots[self.rng.below(slots.len())];
                if let Some(to) = walk(self)
                    && self.in_slot(id, word).is_none()
                {
                    let edge = self.edge(id, to);
                    if zeroed {
                        // It exists already.
                        self.mutator().barrier().note_init(ObjectRef::new(at), self.slot_ptr(id, word), 1);
                    }
                    // SAFETY: the word is a slot of the new value.
                    unsafe { self.slot_ptr(id, word).write(self.value(Some(edge))) };
                    self.note_slot(id, word, Some(edge));
                }
            }
            made.push(id);
        }
        if count == 1
            && let Storage::Values(values) = self.kinds.all[kind].lies
        {
            self.arenas[open].arena.header().commit(at, values.layout.bytes());
        }
        self.model.arenas.get_mut(&number).unwrap().values.extend(&made);
        made
    }

    /// An object of the heap that an arena keeps. May collect.
    pub(crate) fn pass(&mut self, open: usize, kind: usize) -> Result<usize, AllocError> {
        let (arena, ty, m) = (self.arenas[open].arena, self.kinds.all[kind].ty, self.mutator());
        // SAFETY: the header is of this heap.
        let made = unsafe { m.arenas().allocate_external(arena.header(), || m.allocate(ty)) }?;
        Ok(made.as_ptr() as usize)
    }

    /// What the arena has passed is one of the model's now.
    pub(crate) fn add_passed(&mut self, open: usize, id: Id) {
        let number = self.arenas[open].number;
        self.model.arenas.get_mut(&number).unwrap().passed.push(id);
    }

    /// Whether nothing in an arena tells by itself that it lives.
    pub(crate) fn is_empty_arena(&self, open: usize) -> bool {
        self.model.arenas[&self.arenas[open].number].values.is_empty()
    }

    /// Ends an arena, beside a marking or not; returns how it did.
    pub(crate) fn end_arena(&mut self, open: usize, end: End, beside_marking: bool) -> Result<End, String> {
        let Open { arena, number, header, kind } = self.arenas[open];
        let holds = self.model.arenas[&number].clone();
        let frees = kind == ArenaKind::Borrowed && !beside_marking;
        // Beside a marking what is left behind would keep what the collector frees.
        let clears = kind == ArenaKind::Borrowed || self.settings.config.verify || beside_marking;
        let mut goes = holds.values.clone();
        if frees {
            goes.extend(&holds.passed);
        }
        let end = match end {
            End::Left => End::Left,
            _ if !self.let_go(&goes, clears, (frees, beside_marking)) => End::Left,
            end => end,
        };
        match end {
            End::Left => {
                arena.leave(self.mutator());
                // Until the next collection the list of those that were used may keep the header.
                // SAFETY: the header exists.
                let handle =
                    unsafe { self.heap.roots().new_handle(Address::new(arena.0.as_ptr() as usize)) }.unwrap();
                self.left.push((handle, header));
                self.arenas.swap_remove(open);
                if holds.values.is_empty() {
                    self.model.arenas.remove(&number);
                }
                return Ok(end);
            }
            End::Closed => {
                arena.close(self.mutator());
                self.arenas.swap_remove(open);
                self.model.arenas.remove(&number);
            }
            End::Emptied => {
                arena.empty(self.mutator());
                self.model.arenas.insert(number, Default::default());
            }
        }
        if kind == ArenaKind::Escaping {
            holds.passed.iter().for_each(|&id| self.note_emptied(id));
        }
        for id in &goes {
            if let Some(at) = self.model.get(*id).arena.map(|_| self.addr(*id))
                && !beside_marking
                && self.heap.space().arenas().find(Address::new(at)).is_some_and(|place| place.is_there)
            {
                return Err(format!("{at:#x} was in arena {number}, which is {end:?}, and is there"));
            }
        }
        if frees {
            let is_large = |id: &Id| self.kinds.all[self.model.get(*id).kind].ty.cell_size().is_none();
            self.freed_large |= holds.passed.iter().any(is_large);
            self.freed |= !holds.passed.is_empty();
            self.frees += holds.passed.len();
        }
        // What was remembered of it may lie in another arena now, as with a large object.
        self.freed_large |= kind == ArenaKind::Borrowed;
        self.freed |= kind == ArenaKind::Borrowed;
        self.young.retain(|id| !goes.contains(id));
        goes.into_iter().for_each(|id| self.model.remove(id));
        Ok(end)
    }

    /// A value of the heap outlives its arena, if something refers to it, and holds nothing more.
    fn note_emptied(&mut self, id: Id) {
        let ty = self.kinds.all[self.model.get(id).kind].ty;
        if self.heap.space().layouts().shape(ty.shape()).kind() != ScanKind::NoPointers {
            self.model.empty(id);
            self.young.retain(|&young| young != id);
        }
    }

    /// Nothing refers to these objects from outside any more, if words that may be pointers are left aside; or words do that the model
    /// knows for stale. False if too much does, or what cannot be changed: then nothing is done.
    fn let_go(&mut self, goes: &[Id], clears: bool, (frees, beside_marking): (bool, bool)) -> bool {
        let goes_too = |id: &Id| goes.contains(id);
        let mut places = Vec::new();
        for (id, object) in self.model.all().filter(|(id, _)| !goes_too(id)) {
            let edges = object.edges.iter().filter(|(_, edge)| goes_too(&edge.to));
            places.extend(edges.map(|(&word, _)| (id, word, object.dead)));
        }
        if clears && (places.len() > MOST_CLEARED || places.iter().any(|place| place.2)) {
            return false;
        }
        // A value that the arena passed may be another's, too.
        if frees
            && self.model.arenas.values().flat_map(|holds| &holds.passed).filter(|id| goes_too(id)).count()
                > goes.len()
        {
            return false;
        }
        // Where collections come unseen what cannot be reached may be gone.
        let exists = match self.settings.disturbed() {
            true => self.model.reachable(self.roots().into_iter()).0,
            false => Vec::new(),
        };
        places.sort_unstable();
        for (id, word, _) in places {
            let stale = self.word(id, word);
            if clears && exists.get(id.0).is_none_or(|&exists| exists) {
                let (base, slot) = (ObjectRef::new(self.addr(id)), self.slot_ptr(id, word));
                // SAFETY: the object exists, and the word is a slot of it.
                unsafe { self.mutator().barrier().write(base, slot, Address::new(0)) };
            }
            self.note_slot(id, word, None);
            if !clears {
                self.model.get_mut(id).stale.insert(word, Masked::new(stale));
            }
        }
        for block in 0..self.slots.len() {
            for i in 0..self.slots[block].means.len() {
                if self.slots[block].means[i].is_some_and(|id| goes_too(&id)) {
                    match clears {
                        true => self.set_slot(block, i, None),
                        false => self.slots[block].means[i] = None,
                    }
                }
            }
        }
        for frame in 0..self.frames.len() {
            for i in 0..self.frames[frame].means.len() {
                if self.frames[frame].means[i].is_some_and(|id| goes_too(&id)) {
                    match clears {
                        true => self.set_frame(frame, i, None),
                        false => self.frames[frame].means[i] = None,
                    }
                }
            }
        }
        for i in 0..self.handles.len() {
            if self.handles[i].1.is_some_and(|id| goes_too(&id)) {
                match clears {
                    true => self.set_handle(i, None),
                    false => self.handles[i].1 = None,
                }
            }
        }
        for block in 0..self.ranges.len() {
            for i in 0..self.ranges[block].means.len() {
                if beside_marking && matches!(self.ranges[block].means[i], Word::Raw(_)) {
                    self.set_range(block, i, Word::Null);
                }
                if let Word::To(edge) = self.ranges[block].means[i]
                    && goes_too(&edge.to)
                {
                    let at = self.addr(edge.to) + edge.offset;
                    match beside_marking {
                        true => self.set_range(block, i, Word::Null),
                        false => self.ranges[block].means[i] = Word::Raw(Masked::new(at)),
                    }
                }
            }
        }
        true
    }

    /// A collection has ended: of arenas that were left no list keeps the header any more.
    pub(crate) fn let_go_of_headers(&mut self) {
        for (handle, _) in core::mem::take(&mut self.left) {
            assert!(self.heap.roots().free_handle(handle), "the handle is held");
        }
    }

    /// Leaves all that are open.
    pub(crate) fn leave_all_arenas(&mut self) -> Outcome {
        while !self.arenas.is_empty() {
            self.end_arena(0, End::Left, false)?;
        }
        Ok(())
    }

    /// A step of a program's with arenas, but for what is passed and for what follows what is made.
    pub(crate) fn end_some_arena(&mut self, beside_marking: bool) -> Result<(), String> {
        if self.arenas.is_empty() {
            return Ok(());
        }
        let open = self.rng.below(self.arenas.len());
        let end = [End::Closed, End::Emptied, End::Left][self.rng.below(3)];
        self.end_arena(open, end, beside_marking).map(|_| ())
    }

    /// An arena's address is not freed like an object's.
    pub(crate) fn refuses_to_free(&self, id: Id) -> Outcome {
        let at = NonNull::new(self.addr(id) as *mut u8).expect("no value is null");
        // SAFETY: nothing is freed.
        match unsafe { Mutator::free(self.mutator(), at) } {
            Err(_) => Ok(()),
            Ok(()) => Err(format!("{at:?} was freed, in an arena")),
        }
    }
}

/// How many values an array of this kind has, at most.
pub(crate) fn longest(bytes: usize, holds: Slots) -> usize {
    debug_assert!(holds == Slots::Precise);
    (4096 / bytes.max(WORD)).max(1)
}
