//! Random programs: one step is one operation on the heap and on the model. Only objects that could be reached since
//! the last collection are touched.

use super::arenas::{End, longest};
use super::check::{self, Depth, Outcome};
use super::settings::Settings;
use super::world::World;
use core::ptr::NonNull;
use core::time::Duration;
use heapwood_gc::AllocError;
use heapwood_gc_testing::model::graph::{Edge, Id, Masked, Word};
use heapwood_gc_testing::model::kinds::{Slots, Storage, WORD};
use heapwood_heap::{Address, Collection, ObjectRef};

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) steps: usize,
    pub(crate) collections: u64,
    pub(crate) overflows: u64,
    pub(crate) limits: usize,
    pub(crate) verified: u64,
    /// Objects found alive, over all collections.
    pub(crate) seen: usize,
    /// Collections that were young, and those of them that were late.
    pub(crate) young: u64,
    pub(crate) late: u64,
    /// Objects that the program freed, and new ones in their places.
    pub(crate) frees: usize,
    pub(crate) reused: usize,
    /// Collections that stopped the program where it only computed.
    pub(crate) answered: usize,
    /// Arenas, and those of them that the collector freed.
    pub(crate) arenas: usize,
    pub(crate) collected_arenas: usize,
    /// Ephemerons that were cleared.
    pub(crate) weak_cleared: u64,
    /// Finalisers that came: ordered ones, those at once, data; how often one has waited; and links that were cleared.
    pub(crate) came: [usize; 4],
    pub(crate) links_cleared: usize,
}

impl Done {
    pub(crate) fn add(&mut self, other: Done) {
        self.steps += other.steps;
        self.collections += other.collections;
        self.overflows += other.overflows;
        self.limits += other.limits;
        self.verified += other.verified;
        self.seen += other.seen;
        self.young += other.young;
        self.late += other.late;
        self.frees += other.frees;
        self.reused += other.reused;
        self.answered += other.answered;
        self.arenas += other.arenas;
        self.collected_arenas += other.collected_arenas;
        self.weak_cleared += other.weak_cleared;
        (0..4).for_each(|i| self.came[i] += other.came[i]);
        self.links_cleared += other.links_cleared;
    }
}

/// Plays `steps` steps from `seed`; an error says what went wrong, and how to play it again.
pub(crate) fn run(settings: &Settings, seed: u64, steps: usize) -> Result<Done, String> {
    let mut world = World::new(*settings, seed);
    play(&mut world, seed, steps)
}

/// The same in a world made already.
pub(crate) fn play(world: &mut World, seed: u64, steps: usize) -> Result<Done, String> {
    let mut limits = 0;
    for step in 0..steps {
        world
            .step(&mut limits)
            .and_then(|()| world.mark_on())
            .map_err(|what| format!("heap \"{}\", seed {seed}, step {step}: {what}", world.settings.name))?;
    }
    let ended = world.collect_all(Depth::Whole).and_then(|()| world.see_all_come());
    ended.map_err(|what| format!("heap \"{}\", seed {seed}, at the end: {what}", world.settings.name))?;
    let stats = world.heap.inspect().stats();
    Ok(Done {
        steps,
        collections: stats.collections,
        overflows: stats.mark_overflows,
        limits,
        verified: stats.verified,
        seen: world.seen,
        young: world.young_checked,
        late: world.late,
        frees: world.frees,
        reused: world.reused,
        answered: world.answered,
        arenas: world.opened,
        collected_arenas: world.collected_arenas,
        weak_cleared: stats.weak_cleared,
        came: world.wills.came,
        links_cleared: world.links.cleared,
    })
}

impl World {
    fn step(&mut self, limits: &mut usize) -> Outcome {
        if self.settings.collect_every != usize::MAX && self.rng.one_in(self.settings.collect_every) {
            let depth = [Depth::Look, Depth::Sweep, Depth::Whole, Depth::Whole][self.rng.below(4)];
            return self.collect(depth);
        }
        if self.settings.young {
            match self.rng.below(600) {
                0..4 => return self.free_one(),
                4 => self.heap.set_young_time(self.rng.one_in(6).then_some(Duration::ZERO)),
                _ => {}
            }
        }
        if self.settings.edges > 0 {
            match self.rng.below(20) {
                0..3 => return self.hide(),
                3 => return self.free_one(),
                _ => {}
            }
        }
        if self.settings.disturbed() && self.rng.one_in(250) {
            return self.answer_in_handler();
        }
        if self.has_weak() && self.rng.one_in(if self.settings.mostly_weak { 3 } else { 16 }) {
            return match self.rng.below(10) {
                0..4 => self.use_ephemerons(),
                4 | 8 | 9 => self.use_finalizers(),
                5 | 6 => self.use_links(),
                _ => self.use_tables(),
            };
        }
        // Long stretches of building up, shorter ones of everything mixed.
        if self.rng.one_in(if self.growing { 8000 } else { 2000 }) {
            self.growing = !self.growing;
        }
        let dice = if self.growing { self.rng.below(82) } else { self.rng.below(100) };
        match dice {
            0..14 => self.use_arenas(limits),
            14..60 => self.allocate(limits),
            60..64 => self.init(),
            64..82 => self.link(),
            82..86 => self.unlink(),
            86..89 => self.copy(),
            89..95 => self.change_root(),
            95 => self.change_frames(),
            96 => self.change_blocks(),
            97 => {
                self.mutator().safepoint();
                Ok(())
            }
            98 => self.blocking(),
            _ => self.look(),
        }
    }

    /// Collects, mostly what is young if that is the heap's way, and compares.
    pub(crate) fn collect(&mut self, depth: Depth) -> Outcome {
        let young = self.settings.young && !self.rng.one_in(5);
        self.collect_of(if young { Collection::Young } else { Collection::Full }, depth)
    }

    /// Collects everything, and compares.
    pub(crate) fn collect_all(&mut self, depth: Depth) -> Outcome {
        self.collect_of(Collection::Full, depth)
    }

    fn collect_of(&mut self, of: Collection, depth: Depth) -> Outcome {
        if of == Collection::Full {
            self.finish_marking()?;
        }
        let disturber = self.take_disturber();
        let quiet = Self::quiet(&disturber);
        let outcome = self.collect_and_check(of, depth);
        drop(quiet);
        self.put_disturber(disturber);
        outcome
    }

    fn collect_and_check(&mut self, of: Collection, depth: Depth) -> Outcome {
        let before = self.heap.inspect().stats().collections;
        match of {
            Collection::Full => self.mutator().collect().unwrap(),
            Collection::Young => self.mutator().collect_young().unwrap(),
        }
        if self.heap.inspect().stats().collections != before + 1 {
            return Err("an explicit collection did not count as one".into());
        }
        check::after_collection(self, depth, None)?;
        self.thin_out();
        Ok(())
    }

    /// Drops roots when too much is alive.
    fn thin_out(&mut self) {
        if self.live <= self.settings.objects {
            return;
        }
        for block in 0..self.slots.len() {
            for i in 0..self.slots[block].means.len() {
                if !self.rng.one_in(3) {
                    self.set_slot(block, i, None);
                }
            }
        }
        for block in 0..self.ranges.len() {
            for i in 0..self.ranges[block].means.len() {
                self.set_range(block, i, Word::Null);
            }
        }
        for i in (0..self.handles.len()).rev() {
            match self.rng.below(3) {
                0 => self.free_handle(i),
                1 => self.set_handle(i, None),
                _ => {}
            }
        }
        self.release_held(5);
        while self.frames.len() > 1 {
            self.pop_frame();
        }
        for open in (0..self.arenas.len()).rev() {
            if self.rng.one_in(2) {
                let end = [End::Closed, End::Emptied, End::Left][self.rng.below(3)];
                self.end_arena(open, end, self.is_marking()).unwrap_or_else(|what| panic!("{what}"));
            }
        }
    }

    pub(super) fn drop_all_roots(&mut self) {
        for block in 0..self.slots.len() {
            (0..self.slots[block].means.len()).for_each(|i| self.set_slot(block, i, None));
        }
        for block in 0..self.ranges.len() {
            (0..self.ranges[block].means.len()).for_each(|i| self.set_range(block, i, Word::Null));
        }
        (0..self.handles.len()).for_each(|i| self.set_handle(i, None));
        self.release_held(0);
        while !self.frames.is_empty() {
            self.pop_frame();
        }
    }

    /// Some object: one that was reachable at the last collection or is newer, so that it exists until the next, or
    /// one found by a walk.
    pub(super) fn walk(&mut self) -> Option<Id> {
        if self.settings.young && !self.young.is_empty() && self.rng.one_in(4) {
            return Some(self.young[self.rng.below(self.young.len())]);
        }
        // Where collections come unseen only what roots lead to exists for sure.
        if !self.settings.disturbed() && !self.rng.one_in(3) {
            return self.model.any(self.rng.word());
        }
        let rng = &mut self.rng;
        let mut at = match rng.below(8) {
            0 if !self.handles.is_empty() => self.handles[rng.below(self.handles.len())].1,
            1 if !self.frames.is_empty() => {
                let means = &self.frames[rng.below(self.frames.len())].means;
                means[rng.below(means.len())]
            }
            2 if !self.ranges.is_empty() => {
                let means = &self.ranges[rng.below(self.ranges.len())].means;
                match means[rng.below(means.len())] {
                    Word::To(edge) => Some(edge.to),
                    _ => None,
                }
            }
            _ => {
                let means = &self.slots[rng.below(self.slots.len())].means;
                means[rng.below(means.len())]
            }
        }?;
        for _ in 0..self.rng.below(30) {
            let edges = &self.model.get(at).edges;
            // Order of iteration differs from run to run: take a slot by number instead. The program has none of a weak table's.
            let slots = &self.kinds.all[self.model.get(at).kind].slots;
            if edges.is_empty() || slots.is_empty() {
                break;
            }
            let from = self.rng.below(slots.len());
            let found = slots[from..].iter().chain(&slots[..from]).take(200).find_map(|s| edges.get(s));
            match found {
                Some(edge) => at = edge.to,
                None => break,
            }
        }
        Some(at).filter(|&id| !self.model.get(id).is_emptied())
    }

    /// A random slot of a reachable object, rather an empty one.
    pub(super) fn place(&mut self) -> Option<(Id, u32)> {
        let mut place = None;
        for _ in 0..6 {
            let Some(object) = self.walk() else { continue };
            let slots = &self.kinds.all[self.model.get(object).kind].slots;
            if slots.is_empty() {
                continue;
            }
            let word = slots[self.rng.below(slots.len())];
            place = Some((object, word));
            if !self.model.get(object).edges.contains_key(&word) {
                break;
            }
        }
        place
    }

    fn allocate(&mut self, limits: &mut usize) -> Outcome {
        let kind = self.kinds.choose(&mut self.rng);
        let ty = self.kinds.all[kind].ty;
        let zeroed = self.rng.one_in(4);
        let before = self.heap.inspect().stats().collections;
        let made = match self.rng.below(3) {
            0 if ty.cell_size().is_some() && !zeroed => {
                let cell = ty.cell_size().unwrap_or(0);
                self.mutator().reserve(ty.shape(), cell).inspect(|&object| {
                    // SAFETY: it was reserved just now, and is zero where it may hold pointers.
                    unsafe { self.mutator().buffer(ty.shape()).commit(object, cell) };
                })
            }
            _ if zeroed => self.mutator().allocate_zeroed(ty),
            _ => self.mutator().allocate(ty),
        };
        self.hold(made.map_or(0, |object| object.as_ptr() as usize));
        // What others collect beside this thread cannot be compared with.
        let collected = self.heap.inspect().stats().collections != before && !self.settings.disturbed();
        let newest = made.ok().map(|p| p.as_ptr() as usize);
        if self.settings.config.stress && ty.cell_size().is_some() && !collected {
            return Err("an allocation under stress did not collect".into());
        }
        if collected {
            let depth = if self.rng.one_in(4) { Depth::Sweep } else { Depth::Look };
            check::after_collection(self, depth, newest)?;
        }
        let at = match made {
            Ok(at) => at.as_ptr() as usize,
            Err(AllocError::Limit { limit, live, .. }) if self.settings.config.limit == Some(limit) => {
                *limits += 1;
                if live > limit {
                    return Err(format!("{live} bytes are alive above the limit of {limit}"));
                }
                self.drop_all_roots();
                self.leave_all_arenas()?;
                self.end_finalizers()?;
                // What arenas were is free pages after the next.
                for _ in 0..3 {
                    self.collect_all(Depth::Whole)?;
                }
                if self.settings.exact() && self.heap.inspect().stats().in_use_bytes != 0 {
                    return Err("an empty heap has pages in use".into());
                }
                return match self.mutator().allocate(ty) {
                    Ok(at) => self.fill(at.as_ptr() as usize, kind),
                    Err(e) => Err(format!("an empty heap has no room: {e}")),
                };
            }
            Err(e) => return Err(format!("an allocation failed: {e}")),
        };
        self.kinds.all[kind].newborn(at, zeroed)?;
        self.fill(at, kind)?;
        self.hold(0);
        if collected {
            self.thin_out();
        }
        Ok(())
    }

    /// Opens an arena, puts something into one, or ends one.
    fn use_arenas(&mut self, limits: &mut usize) -> Outcome {
        if self.rng.one_in(if self.settings.edges > 0 { 15 } else { 40 }) {
            return self.end_some_arena(self.is_marking());
        }
        let before = self.heap.inspect().stats().collections;
        if self.wants_arena() {
            let made = self.open_arena();
            let newest = made.as_ref().ok().map(|(arena, _)| arena.0.as_ptr() as usize);
            self.came(before, newest)?;
            return match made {
                Ok(made) => {
                    self.add_arena(made);
                    Ok(())
                }
                Err(e) => self.has_no_room(e, limits),
            };
        }
        let open = self.rng.below(self.arenas.len());
        if !self.is_empty_arena(open) && self.rng.one_in(12) {
            let kind = self.kinds.choose(&mut self.rng);
            let made = self.pass(open, kind);
            self.hold(made.as_ref().map_or(0, |&at| at));
            self.came(before, made.as_ref().ok().copied())?;
            let at = match made {
                Ok(at) => at,
                Err(e) => return self.has_no_room(e, limits),
            };
            self.kinds.all[kind].newborn(at, false)?;
            self.fill_then(at, kind, |world, id| world.add_passed(open, id))?;
            self.hold(0);
            return Ok(());
        }
        let kind = self.kinds.choose_in_arena(&mut self.rng);
        let k = &self.kinds.all[kind];
        let longest = longest(k.ty.size(), k.holds);
        let count = if matches!(k.lies, Storage::Values(_)) && self.rng.one_in(8) {
            1 + self.rng.below(longest)
        } else {
            1
        };
        let room = self.room_in_arena(open, kind, count);
        self.came(before, None)?;
        let at = match room {
            Ok(at) => at,
            Err(e) => return self.has_no_room(e, limits),
        };
        let made = self.write_values((open, kind), (at, count), Self::walk);
        let id = made[self.rng.below(made.len())];
        match self.rng.below(4) {
            // Most are referred to by others of their arena alone, or by nothing.
            0 | 1 => {}
            2 => {
                if let Some((object, word)) = self.place() {
                    let edge = self.edge(object, id);
                    self.store(object, word, Some(edge))?;
                }
            }
            _ => self.root(id),
        }
        if self.young.len() == 16 {
            self.young.remove(0);
        }
        self.young.push(id);
        Ok(())
    }

    /// Compares if a collection has come since there were so many, before what is at `newest` was made.
    pub(super) fn came(&mut self, before: u64, newest: Option<usize>) -> Outcome {
        if self.heap.inspect().stats().collections == before || self.settings.disturbed() {
            return Ok(());
        }
        let depth = if self.rng.one_in(4) { Depth::Sweep } else { Depth::Look };
        check::after_collection(self, depth, newest)
    }

    /// There was no room in an arena, or for its header.
    fn has_no_room(&mut self, error: AllocError, limits: &mut usize) -> Outcome {
        match error {
            AllocError::Limit { limit, .. } if self.settings.config.limit == Some(limit) => {
                *limits += 1;
                self.drop_all_roots();
                self.leave_all_arenas()?;
                self.collect_all(Depth::Whole)
            }
            e => Err(format!("an arena got nothing: {e}")),
        }
    }

    /// Gives a new object its contents and, mostly, a place in the graph.
    fn fill(&mut self, at: usize, kind: usize) -> Outcome {
        self.fill_then(at, kind, |_, _| {})
    }

    /// The same, once `then` has been told of it.
    fn fill_then(&mut self, at: usize, kind: usize, then: impl FnOnce(&mut Self, Id)) -> Outcome {
        // In the place of what was freed it counts as old at once.
        let old = self.heap.space().is_old(Address::new(at));
        self.reused += old as usize;
        let id = self.model.add(at, kind, old);
        then(self, id);
        let words = self.kinds.all[kind].words();
        let is_data =
            |k: &heapwood_gc_testing::model::kinds::Kind, w: usize| !(k.is_slot[w] || k.counted && w == 0);
        let k = &self.kinds.all[kind];
        if words > 0 && k.holds == Slots::Precise && self.rng.one_in(8) {
            let word = self.rng.below(words);
            let decoy = match self.rng.below(2) {
                0 => self.graves.last().copied(),
                _ => self.walk().map(|id| self.model.get(id).at),
            };
            if let Some(decoy) = decoy
                && is_data(&self.kinds.all[kind], word)
            {
                self.model.get_mut(id).decoy = Some((word as u32, decoy));
            }
        }
        let (object, k) = (self.model.get(id), &self.kinds.all[kind]);
        for w in 0..words {
            let value = match object.decoy {
                Some((word, at)) if word as usize == w => at.addr(),
                _ if k.counted && w == 0 => k.slots.len(),
                _ if is_data(k, w) => object.pattern(w as u32),
                _ => continue,
            };
            // SAFETY: the object is new and has this word.
            unsafe { (at as *mut usize).add(w).write(value) };
        }
        // Stores that initialise need no barrier.
        let slots = self.kinds.all[kind].slots.len();
        for _ in 0..self.rng.below(4).min(slots) {
            let word = self.kinds.all[kind].slots[self.rng.below(slots)];
            if let Some(to) = self.walk() {
                let edge = self.edge(id, to);
                // SAFETY: the object is new, and the word one of its slots.
                unsafe { self.slot_ptr(id, word).write(self.value(Some(edge))) };
                self.note_slot(id, word, Some(edge));
            }
        }
        match self.rng.below(20) {
            0 | 1 => {}
            2..19 => {
                let place = self.place();
                let place = place.filter(|&(o, w)| !self.growing || self.in_slot(o, w).is_none());
                if let Some((object, word)) = place
                    && self.word(object, word) == 0
                    && self.rng.one_in(4)
                {
                    // An array that is filled as what is put into it is made.
                    let edge = self.edge(object, id);
                    self.mutator().barrier().note_init(
                        ObjectRef::new(self.addr(object)),
                        self.slot_ptr(object, word),
                        1,
                    );
                    // SAFETY: the object exists, and the word is one of its slots.
                    unsafe { self.slot_ptr(object, word).write(self.value(Some(edge))) };
                    self.note_slot(object, word, Some(edge));
                } else if let Some((object, word)) = place {
                    let edge = self.edge(object, id);
                    self.store(object, word, Some(edge))?;
                } else {
                    self.root(id);
                }
            }
            _ => self.root(id),
        }
        if self.young.len() == 16 {
            self.young.remove(0);
        }
        self.young.push(id);
        Ok(())
    }

    /// Makes some root refer to `id`.
    pub(super) fn root(&mut self, id: Id) {
        match if self.growing { 9 } else { self.rng.below(10) } {
            0 => {
                let block = self.rng.below(self.ranges.len());
                let i = self.rng.below(self.ranges[block].means.len());
                let size = self.kinds.all[self.model.get(id).kind].ty.size();
                let offset = self.rng.below(size);
                self.set_range(block, i, Word::To(Edge { to: id, offset }));
            }
            1 if self.handles.len() < 30 => self.new_handle(Some(id)),
            1 | 2 if !self.handles.is_empty() => {
                let i = self.rng.below(self.handles.len());
                self.set_handle(i, Some(id));
            }
            3 if !self.frames.is_empty() => {
                let frame = self.rng.below(self.frames.len());
                let i = self.rng.below(self.frames[frame].means.len());
                self.set_frame(frame, i, Some(id));
            }
            _ => {
                // Rather an empty slot, so that the graph can grow.
                for attempt in 0..4 {
                    let block = self.rng.below(self.slots.len());
                    let i = self.rng.below(self.slots[block].means.len());
                    if attempt == 3 && self.rng.one_in(3) || self.slots[block].means[i].is_none() {
                        self.set_slot(block, i, Some(id));
                        break;
                    }
                }
            }
        }
    }

    /// Stores through the barrier, or is refused.
    fn store(&mut self, object: Id, word: u32, edge: Option<Edge>) -> Outcome {
        if !self.rng.one_in(4) {
            return self.store_at(object, word, edge);
        }
        let (base, slot) = (ObjectRef::new(self.addr(object)), self.slot_ptr(object, word));
        let (old, new) = (self.word(object, word), self.value(edge));
        let wrong = old ^ 8;
        // SAFETY: the object can be reached, the word is a slot of it, the value an object's address.
        let done =
            unsafe { self.mutator().barrier().cas(base, slot, Address::new(wrong), Address::new(new)) };
        match done {
            Err(found) if found == Address::new(old) => Ok(()),
            done => Err(format!("a compare-and-swap that should fail gave {done:x?}")),
        }
    }

    /// Stores through the barrier, in one of its ways.
    pub(super) fn store_at(&mut self, object: Id, word: u32, edge: Option<Edge>) -> Outcome {
        let (base, slot) = (ObjectRef::new(self.addr(object)), self.slot_ptr(object, word));
        let (old, new) = (self.word(object, word), self.value(edge));
        match self.rng.below(4) {
            0 => {
                // SAFETY: the object can be reached, the word is a slot of it, the value an object's address.
                let done =
                    unsafe { self.mutator().barrier().cas(base, slot, Address::new(old), Address::new(new)) };
                if done != Ok(()) {
                    return Err(format!("a compare-and-swap found {done:x?} and not {old:#x}"));
                }
            }
            1 => {
                // SAFETY: as above.
                unsafe { self.mutator().barrier().write_inside(slot, Address::new(new)) };
            }
            2 => {
                // SAFETY: as above; the source is a local.
                unsafe { self.mutator().barrier().copy(base, slot, &raw const new, 1) };
            }
            _ => {
                // SAFETY: as above.
                unsafe { self.mutator().barrier().write(base, slot, Address::new(new)) };
            }
        }
        self.note_slot(object, word, edge);
        Ok(())
    }

    /// Fills slots that were never written, with plain stores that are told before.
    fn init(&mut self) -> Outcome {
        let Some(object) = self.walk() else { return Ok(()) };
        let slots = &self.kinds.all[self.model.get(object).kind].slots;
        if slots.is_empty() {
            return Ok(());
        }
        let first = self.rng.below(slots.len());
        let run = slots[first..]
            .iter()
            .enumerate()
            .take(8)
            .take_while(|&(i, &word)| word == slots[first] + i as u32 && self.word(object, word) == 0);
        let (mut word, mut left) = (slots[first], run.count());
        let base = ObjectRef::new(self.addr(object));
        while left > 0 {
            let n = 1 + self.rng.below(left);
            let values: Vec<_> = (0..n).map(|_| self.walk().map(|to| self.edge(object, to))).collect();
            self.mutator().barrier().note_init(base, self.slot_ptr(object, word), n);
            for edge in values {
                // SAFETY: the word is a slot of an object that exists.
                unsafe { self.slot_ptr(object, word).write(self.value(edge)) };
                self.note_slot(object, word, edge);
                word += 1;
            }
            left -= n;
        }
        Ok(())
    }

    /// Frees an object, if few objects and no root refer to it. Those let go of it before.
    fn free_one(&mut self) -> Outcome {
        let Some(victim) = self.walk() else { return Ok(()) };
        if self.model.get(victim).arena.is_some() {
            return self.refuses_to_free(victim);
        }
        // The collector frees ephemerons, and who frees a key promises that nobody reads it.
        let is_opaque = self.kinds.all[self.model.get(victim).kind].is_opaque;
        if self.is_in_pair(victim) || is_opaque || self.wills.has(victim) || self.links.has(victim) {
            return Ok(());
        }
        let is_passed = self.model.arenas.values().any(|holds| holds.passed.contains(&victim));
        if is_passed || self.roots().contains(&victim) {
            return Ok(());
        }
        let mut places = Vec::new();
        for (id, object) in self.model.all() {
            let refer = object.edges.iter().filter(|(_, edge)| edge.to == victim);
            places.extend(refer.map(|(&word, _)| (id, word, object.dead)));
        }
        // Nobody can reach what is dead, to clear it.
        if places.len() > 4 || places.iter().any(|place| place.2) {
            return Ok(());
        }
        if self.is_marking() {
            let mut leads: Vec<Id> = self.model.get(victim).edges.values().map(|edge| edge.to).collect();
            leads.sort_unstable();
            leads.retain(|&to| to != victim);
            // What else refers to it is not known to refer to it no more.
            leads.into_iter().take(3).for_each(|to| self.root(to));
        }
        places.sort_unstable();
        for (id, word, _) in places.into_iter().filter(|place| place.0 != victim) {
            let (base, slot) = (ObjectRef::new(self.addr(id)), self.slot_ptr(id, word));
            // SAFETY: the object exists, and the word is a slot of it.
            unsafe { self.mutator().barrier().write(base, slot, Address::new(0)) };
            self.note_slot(id, word, None);
        }
        let at = NonNull::new(self.addr(victim) as *mut u8).expect("no object is null");
        let is_large = self.kinds.all[self.model.get(victim).kind].ty.cell_size().is_none();
        self.model.remove(victim);
        self.young.retain(|&id| id != victim);
        (self.freed, self.frees) = (true, self.frees + 1);
        self.freed_large |= is_large;
        // SAFETY: nothing refers to it any more.
        unsafe { self.mutator().free(at) }.map_err(|e| format!("an object at {at:?} cannot be freed: {e}"))
    }

    fn link(&mut self) -> Outcome {
        let (Some((object, word)), Some(to)) = (self.place(), self.walk()) else { return Ok(()) };
        if self.growing && self.in_slot(object, word).is_some() {
            return Ok(());
        }
        let edge = self.edge(object, to);
        self.store(object, word, Some(edge))
    }

    fn unlink(&mut self) -> Outcome {
        let Some(object) = self.walk() else { return Ok(()) };
        let slots = &self.kinds.all[self.model.get(object).kind].slots;
        if slots.is_empty() {
            return Ok(());
        }
        let word = slots[self.rng.below(slots.len())];
        self.store(object, word, None)
    }

    /// Copies slots of one slice into another, or within one.
    fn copy(&mut self) -> Outcome {
        let mut slice = || {
            let id = self.walk()?;
            let kind = &self.kinds.all[self.model.get(id).kind];
            Some((id, kind.run_from?, kind.words() as u32))
        };
        let Some((to, to_first, to_end)) = slice() else { return Ok(()) };
        let (from, from_first, from_end) = slice().unwrap_or((to, to_first, to_end));
        // Mostly few: long copies of empty slots would prune the graph.
        let longest = (to_end - to_first).min(from_end - from_first) as usize;
        let longest = if self.rng.one_in(6) { longest } else { longest.min(6) };
        let n = 1 + self.rng.below(longest) as u32;
        let source = from_first + self.rng.below((from_end - from_first - n + 1) as usize) as u32;
        let target = to_first + self.rng.below((to_end - to_first - n + 1) as usize) as u32;
        let edges: Vec<_> = (0..n).map(|i| self.in_slot(from, source + i)).collect();
        let stale: Vec<_> = (0..n).map(|i| self.model.get(from).stale.get(&(source + i)).copied()).collect();
        let base = ObjectRef::new(self.addr(to));
        let (slot, words) = (self.slot_ptr(to, target), self.slot_ptr(from, source));
        // SAFETY: both objects can be reached, and the words are slots of them.
        unsafe { self.mutator().barrier().copy(base, slot, words, n as usize) };
        for (i, edge) in edges.into_iter().enumerate() {
            self.note_slot(to, target + i as u32, edge);
            if let Some(stale) = stale[i] {
                self.model.get_mut(to).stale.insert(target + i as u32, stale);
            }
        }
        Ok(())
    }

    fn change_root(&mut self) -> Outcome {
        match self.rng.below(16) {
            0 => {
                let block = self.rng.below(self.slots.len());
                let i = self.rng.below(self.slots[block].means.len());
                self.set_slot(block, i, None);
            }
            1 if !self.handles.is_empty() => {
                let i = self.rng.below(self.handles.len());
                self.free_handle(i);
            }
            2..5 => {
                let block = self.rng.below(self.ranges.len());
                let i = self.rng.below(self.ranges[block].means.len());
                let word = match self.rng.below(3) {
                    // A marking has read the roots, and what is dead goes.
                    _ if self.is_marking() => Word::Null,
                    0 => Word::Null,
                    1 => Word::Raw(Masked::new(self.rng.word() as usize)),
                    _ => match self.graves.last() {
                        Some(at) => Word::Raw(Masked::new(at.addr() + self.rng.below(40))),
                        None => Word::Raw(Masked::new(self.heap.space().base().get())),
                    },
                };
                self.set_range(block, i, word);
            }
            5 if !self.frames.is_empty() => {
                let frame = self.rng.below(self.frames.len());
                let i = self.rng.below(self.frames[frame].means.len());
                self.set_frame(frame, i, None);
            }
            6 => self.release_held(20),
            7 => {
                if let Some(id) = self.any_in_heap() {
                    self.hold_object(id);
                }
            }
            _ => {
                if let Some(id) = self.walk() {
                    self.root(id);
                }
            }
        }
        Ok(())
    }

    fn change_frames(&mut self) -> Outcome {
        if self.frames.len() < 6 && self.rng.one_in(2) {
            let n = 1 + self.rng.below(6);
            self.push_frame(n);
        } else {
            self.pop_frame();
        }
        Ok(())
    }

    fn change_blocks(&mut self) -> Outcome {
        // Removing one drops much at once, so it is rare.
        match self.rng.below(40) {
            0 if self.slots.len() < 5 => {
                let n = 1 + self.rng.below(30);
                self.add_slots(n);
            }
            1 if self.ranges.len() < 4 => {
                let n = 1 + self.rng.below(20);
                self.add_range(n);
            }
            2 if self.slots.len() > 1 => {
                let block = self.rng.below(self.slots.len());
                self.remove_slots(block);
            }
            3 if self.ranges.len() > 1 => {
                let block = self.rng.below(self.ranges.len());
                self.remove_range(block);
            }
            _ => {}
        }
        Ok(())
    }

    /// A blocking region; its result comes through.
    fn blocking(&mut self) -> Outcome {
        match self.mutator().blocking(|| 42).unwrap() {
            42 => Ok(()),
            other => Err(format!("a blocking region returned {other}")),
        }
    }

    /// Looks at one object between collections.
    fn look(&mut self) -> Outcome {
        let Some(id) = self.walk() else { return Ok(()) };
        let (at, size) = (self.addr(id), self.kinds.all[self.model.get(id).kind].ty.size());
        if self.model.get(id).arena.is_none() && at % WORD != 0 || size == 0 {
            return Err(format!("an object of {size} bytes at {at:#x}"));
        }
        check::object(self, id)
    }
}
