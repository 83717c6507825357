//! A heap with one attached mutator, roots of every sort in memory of their own, and the model of all that. Every
//! change is made to both sides here.

use super::arenas::Open;
use super::finalizers::Wills;
use super::links::Links;
use super::settings::Settings;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::{Attached, Frame, Handle, Heap, HeapBox, Mutator, RootToken};
use heapwood_gc_testing::Rng;
use heapwood_gc_testing::disturb::{Disturber, Quiet};
use heapwood_gc_testing::model::graph::{Edge, Id, Masked, Model, Word};
use heapwood_gc_testing::model::kinds::{Kinds, Slots, WORD};
use heapwood_heap::Address;
use heapwood_os::{KernelRef, SYSTEM};

/// Registered precise slots.
pub(crate) struct SlotBlock {
    pub(crate) words: Box<[usize]>,
    pub(crate) means: Vec<Option<Id>>,
    pub(crate) token: RootToken,
}

/// A registered ambiguous range.
pub(crate) struct RangeBlock {
    pub(crate) words: Box<[usize]>,
    pub(crate) means: Vec<Word>,
    pub(crate) token: RootToken,
}

/// A frame of the shadow stack.
pub(crate) struct FrameBlock {
    frame: Box<Frame>,
    /// Its slots get other objects only while it is the topmost.
    fixed: bool,
    /// The way to the slots, without the collector's bits.
    at: *mut usize,
    pub(crate) slots: Box<[usize]>,
    pub(crate) means: Vec<Option<Id>>,
}

pub(crate) struct World {
    /// Dropped first, and so before the heap.
    mutator: Attached<'static>,
    pub(crate) settings: Settings,
    pub(crate) kinds: Kinds,
    pub(crate) model: Model,
    pub(crate) rng: Rng,
    pub(crate) slots: Vec<SlotBlock>,
    pub(crate) ranges: Vec<RangeBlock>,
    pub(crate) frames: Vec<FrameBlock>,
    pub(crate) handles: Vec<(Handle, Option<Id>)>,
    /// Objects that the program holds.
    held: Vec<Id>,
    /// Open arenas, and the headers of those that were left since the last collection.
    pub(crate) arenas: Vec<Open>,
    pub(crate) left: Vec<(Handle, Id)>,
    /// What is registered to be finalised, words with links, and weak tables.
    pub(crate) wills: Wills,
    pub(crate) links: Links,
    pub(crate) tables: Vec<Id>,
    /// A marking in steps is under way; what was dead when it began. How many have ended.
    pub(super) marking: Option<Vec<Masked>>,
    pub(crate) markings: usize,
    /// The last collection came in the middle of a call whose halves the model does not know, or was one end of a marking in steps.
    pub(crate) is_unsure: bool,
    /// Objects that such a call may have made after that collection.
    pub(crate) made: Vec<Id>,
    /// Arenas that were opened, and those that the collector has freed.
    pub(crate) opened: usize,
    pub(crate) collected_arenas: usize,
    /// Some of the objects that were made since the last collection.
    pub(crate) young: Vec<Id>,
    /// Addresses of objects that have died.
    pub(crate) graves: Vec<Masked>,
    /// Whether the program adds to the graph only.
    pub(crate) growing: bool,
    /// How many objects the last check found reachable.
    pub(crate) live: usize,
    /// The sum of that over all checks.
    pub(crate) seen: usize,
    /// Collections that have been checked, those of them that were young, and of those that were late.
    pub(crate) checked: u64,
    pub(crate) young_checked: u64,
    pub(crate) late: u64,
    /// Collections of the heap, young ones and late ones, as of the last check.
    pub(crate) counts: (u64, u64, u64),
    /// The program has freed something since the last full collection, and something large: what was remembered of that may lie
    /// in another object now, so that a young collection keeps more than it must.
    pub(crate) freed: bool,
    pub(crate) freed_large: bool,
    /// Objects that it has freed, and those of the new ones that lie where one was.
    pub(crate) frees: usize,
    /// How many of these there were when objects were last counted.
    pub(crate) counted_frees: usize,
    pub(crate) reused: usize,
    /// How many collections stopped the program where it only computed.
    pub(crate) answered: usize,
    /// The object that is being made: where threads are stopped anywhere, the model's masked address does not keep it alive.
    hand: Box<AtomicUsize>,
    disturber: Option<Disturber>,
    // Last: dropped after what points to it.
    pub(crate) heap: HeapBox,
}

impl World {
    pub(crate) fn new(settings: Settings, seed: u64) -> Self {
        Self::on(&SYSTEM, settings, seed)
    }

    pub(crate) fn on(kernel: KernelRef, settings: Settings, seed: u64) -> Self {
        let mut config = settings.config;
        if settings.drawn {
            config = config.mark_threads(1 + (seed % 8) as usize);
        }
        let heap = Heap::create(kernel, config).unwrap();
        heap.space().set_always_shared(settings.mixed);
        if settings.by_bytes {
            heap.pace_by_bytes();
        }
        let mutator = Mutator::attach(&heap, None).unwrap().into_raw();
        // SAFETY: given just now, to this thread; the heap is dropped after it.
        let mutator: Attached<'static> = unsafe { Attached::from_raw(mutator) };
        let mut rng = Rng::new(seed);
        let kinds = Kinds::new(&heap, &mutator, &mut rng);
        let wills = Wills::new(&heap);
        let mut world = World {
            mutator,
            settings,
            kinds,
            model: Model::default(),
            rng,
            slots: Vec::new(),
            ranges: Vec::new(),
            frames: Vec::new(),
            handles: Vec::new(),
            held: Vec::new(),
            arenas: Vec::new(),
            left: Vec::new(),
            wills,
            links: Links::new(),
            tables: Vec::new(),
            marking: None,
            markings: 0,
            is_unsure: false,
            made: Vec::new(),
            opened: 0,
            collected_arenas: 0,
            young: Vec::new(),
            graves: Vec::new(),
            growing: true,
            live: 0,
            seen: 0,
            checked: 0,
            young_checked: 0,
            late: 0,
            counts: (0, 0, 0),
            freed: false,
            freed_large: false,
            frees: 0,
            counted_frees: 0,
            reused: 0,
            answered: 0,
            hand: Box::new(AtomicUsize::new(0)),
            disturber: None,
            heap,
        };
        world.add_slots(60);
        world.add_range(10);
        if settings.disturbed() {
            let hand = world.hand.as_ptr() as usize;
            // SAFETY: the word is in a box of its own as long as the heap.
            unsafe { world.heap.roots().add_range(hand, hand + WORD) }.unwrap();
            // SAFETY: the heap is in a box, and is dropped after this, which `drop` ends first.
            world.disturber = Some(unsafe { Disturber::new(&world.heap) });
        }
        world
    }

    pub(crate) fn mutator(&self) -> &Mutator {
        &self.mutator
    }

    /// Collections are the program's own until what is returned goes.
    pub(crate) fn quiet(disturber: &Option<Disturber>) -> Option<Quiet<'_>> {
        disturber.as_ref().map(Disturber::quiet)
    }

    /// Who disturbs the program, for a while: to be put back.
    pub(crate) fn take_disturber(&mut self) -> Option<Disturber> {
        self.disturber.take()
    }

    pub(crate) fn put_disturber(&mut self, disturber: Option<Disturber>) {
        self.disturber = disturber;
    }

    /// This is being made, or nothing (0).
    pub(crate) fn hold(&self, object: usize) {
        self.hand.store(object, Ordering::Relaxed);
    }

    /// Is stopped where it only computes.
    pub(crate) fn answer_in_handler(&mut self) -> Result<(), String> {
        if let Some(disturber) = &self.disturber {
            disturber.answer_in_handler()?;
            self.answered += 1;
        }
        Ok(())
    }

    pub(crate) fn addr(&self, id: Id) -> usize {
        self.model.get(id).at.addr()
    }

    pub(crate) fn add_slots(&mut self, n: usize) {
        let words = vec![0; n].into_boxed_slice();
        // SAFETY: the slots are in a box of their own until the root is removed, and hold addresses of objects.
        let token = unsafe { self.heap.roots().add_slots(words.as_ptr(), n) }.unwrap();
        self.slots.push(SlotBlock { words, means: vec![None; n], token });
    }

    pub(crate) fn remove_slots(&mut self, block: usize) {
        let block = self.slots.swap_remove(block);
        assert!(self.heap.roots().remove(block.token), "the root is known");
        assert!(!self.heap.roots().remove(block.token), "a root is removed once");
    }

    pub(crate) fn add_range(&mut self, n: usize) {
        let words = vec![0; n].into_boxed_slice();
        // Bounds inside the first word before and the last word after the range do not matter.
        let (start, end) = (words.as_ptr() as usize, words.as_ptr() as usize + n * WORD);
        // SAFETY: the range is in a box of its own until the root is removed.
        let token = unsafe { self.heap.roots().add_range(start, end) }.unwrap();
        self.ranges.push(RangeBlock { words, means: vec![Word::Null; n], token });
    }

    pub(crate) fn remove_range(&mut self, block: usize) {
        let block = self.ranges.swap_remove(block);
        assert!(self.heap.roots().remove(block.token), "the root is known");
    }

    pub(crate) fn set_slot(&mut self, block: usize, i: usize, to: Option<Id>) {
        let value = to.map_or(0, |id| self.addr(id));
        let b = &mut self.slots[block];
        // The collector reads it behind the compiler's back.
        // SAFETY: the word is the block's own.
        unsafe { (&raw mut b.words[i]).write_volatile(value) };
        b.means[i] = to;
    }

    pub(crate) fn set_range(&mut self, block: usize, i: usize, to: Word) {
        let value = match to {
            Word::Null => 0,
            Word::To(edge) => self.addr(edge.to) + edge.offset,
            Word::Raw(at) => at.addr(),
        };
        let b = &mut self.ranges[block];
        // SAFETY: the word is the block's own.
        unsafe { (&raw mut b.words[i]).write_volatile(value) };
        b.means[i] = to;
    }

    pub(crate) fn push_frame(&mut self, n: usize) {
        let mut slots = vec![0; n].into_boxed_slice();
        let (at, fixed) = (slots.as_mut_ptr(), self.rng.one_in(2));
        let mut frame = Box::new(Frame { prev: core::ptr::null_mut(), count: n, slots: at });
        let place = NonNull::from(&mut *frame);
        let frames = self.mutator().frames();
        let push = if fixed { heapwood_gc::Frames::push_fixed } else { heapwood_gc::Frames::push };
        // SAFETY: frame and slots are in boxes that live until the frame is popped; `set_frame` keeps to a fixed one's rule.
        unsafe { push(frames, place) };
        self.frames.push(FrameBlock { frame, fixed, at, slots, means: vec![None; n] });
    }

    pub(crate) fn pop_frame(&mut self) {
        if let Some(top) = self.frames.pop() {
            // SAFETY: the frame was pushed, and is the topmost.
            unsafe { self.mutator().frames().pop() };
            assert!(top.frame.count == top.means.len());
        }
    }

    pub(crate) fn set_frame(&mut self, frame: usize, i: usize, to: Option<Id>) {
        let value = to.map_or(0, |id| self.addr(id));
        let top = self.frames.len() - 1;
        let frame = if self.frames[frame].fixed && to.is_some() { top } else { frame };
        let f = &mut self.frames[frame];
        let i = i % f.means.len();
        // Through the pointer that the frame was given, so that it stays the way to the slots.
        // SAFETY: the slot is one of the frame's.
        unsafe { f.at.add(i).write_volatile(value) };
        f.means[i] = to;
        debug_assert_eq!(f.slots.len(), f.means.len());
    }

    pub(crate) fn new_handle(&mut self, to: Option<Id>) {
        let value = to.map_or(0, |id| self.addr(id));
        // SAFETY: 0, or the address of an object that is reachable.
        let handle = unsafe { self.heap.roots().new_handle(Address::new(value)) }.unwrap();
        // SAFETY: just made.
        assert_eq!(unsafe { handle.get() }, value);
        self.handles.push((handle, to));
    }

    pub(crate) fn set_handle(&mut self, i: usize, to: Option<Id>) {
        let value = to.map_or(0, |id| self.addr(id));
        let (handle, means) = &mut self.handles[i];
        // SAFETY: the handle is held, and the value 0 or the address of an object that is reachable.
        unsafe { self.heap.roots().set_handle(*handle, Address::new(value)) };
        *means = to;
    }

    pub(crate) fn free_handle(&mut self, i: usize) {
        let (handle, _) = self.handles.swap_remove(i);
        assert!(self.heap.roots().free_handle(handle), "the handle is held");
        assert!(!self.heap.roots().free_handle(handle), "a handle is freed once");
    }

    pub(crate) fn hold_object(&mut self, id: Id) {
        if !self.held.contains(&id) {
            let object = NonNull::new(self.addr(id) as *mut u8).unwrap();
            assert_eq!(self.mutator().hold(object), Ok(true), "it was not held");
            assert_eq!(self.mutator().hold(object), Ok(false), "it is held");
            self.held.push(id);
        }
    }

    /// Holds no more objects than this.
    pub(crate) fn release_held(&mut self, most: usize) {
        while self.held.len() > most {
            let i = self.rng.below(self.held.len());
            let id = self.held.swap_remove(i);
            let object = NonNull::new(self.addr(id) as *mut u8).unwrap();
            assert_eq!(self.mutator().release_held(object), Ok(true), "it is held");
        }
    }

    /// The pointer that `object`'s slot may be made to hold so that it refers to `to`.
    pub(crate) fn edge(&mut self, object: Id, to: Id) -> Edge {
        let holds = self.kinds.all[self.model.get(object).kind].holds;
        let size = self.kinds.all[self.model.get(to).kind].ty.size();
        let offset = if holds == Slots::Ambiguous && self.rng.one_in(2) { self.rng.below(size) } else { 0 };
        Edge { to, offset }
    }

    pub(crate) fn value(&self, edge: Option<Edge>) -> usize {
        edge.map_or(0, |e| self.addr(e.to) + e.offset)
    }

    /// What the model says a slot holds.
    pub(crate) fn in_slot(&self, object: Id, word: u32) -> Option<Edge> {
        self.model.get(object).edges.get(&word).copied()
    }

    pub(crate) fn note_slot(&mut self, object: Id, word: u32, edge: Option<Edge>) {
        let edges = &mut self.model.get_mut(object).edges;
        match edge {
            Some(edge) => edges.insert(word, edge),
            None => edges.remove(&word),
        };
        self.model.get_mut(object).stale.remove(&word);
    }

    /// The word itself that a slot holds.
    pub(crate) fn word(&self, object: Id, word: u32) -> usize {
        match self.in_slot(object, word) {
            None => self.model.get(object).stale.get(&word).map_or(0, |at| at.addr()),
            edge => self.value(edge),
        }
    }

    pub(crate) fn slot_ptr(&self, object: Id, word: u32) -> *mut usize {
        (self.addr(object) + word as usize * WORD) as *mut usize
    }

    /// Everything that roots name. Raw words mean whatever exists where they point.
    pub(crate) fn roots(&self) -> Vec<Id> {
        let mut roots: Vec<Id> = Vec::new();
        roots.extend(self.slots.iter().flat_map(|b| b.means.iter().flatten()));
        roots.extend(self.frames.iter().flat_map(|b| b.means.iter().flatten()));
        roots.extend(self.handles.iter().filter_map(|h| h.1).chain(self.held.iter().copied()));
        for open in &self.arenas {
            roots.push(open.header);
            let holds = &self.model.arenas[&open.number];
            roots.extend(holds.values.iter().chain(&holds.passed));
        }
        roots.extend(self.left.iter().map(|left| left.1));
        let mut raw = Vec::new();
        for word in self.ranges.iter().flat_map(|b| b.means.iter()) {
            match *word {
                Word::Null => {}
                Word::To(edge) => roots.push(edge.to),
                Word::Raw(at) => raw.push(at.addr()),
            }
        }
        // Where collections come unseen the model has objects yet that are gone. Fewer roots are nothing wrong there: the heap may
        // keep more.
        if !raw.is_empty() && !self.settings.disturbed() {
            // An address anywhere in an arena keeps all of it.
            for place in raw.iter().filter_map(|&at| self.heap.space().arenas().find(Address::new(at))) {
                let holds = self.model.arenas.get(&place.arena).filter(|_| place.is_there);
                roots.extend(holds.iter().flat_map(|holds| &holds.values));
            }
            for (id, object) in self.model.all() {
                let (start, reach) = (object.at.addr(), self.kinds.all[object.kind].reach());
                if raw.iter().any(|&at| at >= start && at < start + reach) {
                    roots.push(id);
                }
            }
        }
        roots
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Before the roots that its collections look at.
        self.disturber = None;
        self.end_links();
        // Verify mode tells of those that a thread forgets.
        for open in core::mem::take(&mut self.arenas) {
            open.arena.leave(&self.mutator);
        }
        while !self.frames.is_empty() {
            self.pop_frame();
        }
    }
}
