//! What the program does to its graph in a step: make, link, move, copy and free. Invariant: each operation is done to the heap and
//! to the model.

use super::driver::Program;
use crate::oracle::check::Outcome;
use core::ptr::NonNull;
use heapwood_gc::Refusal;
use heapwood_gc_testing::model::graph::{Edge, Id, Word};
use heapwood_gc_testing::model::kinds::Storage;
use heapwood_heap::{Address, ObjectRef};

impl Program {
    /// Some object, mostly one that can be reached.
    fn any(&mut self) -> Option<Id> {
        let roots = self.world.roots();
        if roots.is_empty() || self.world.rng.one_in(5) {
            let random = self.world.rng.word();
            return self.world.model.any(random);
        }
        let mut at = roots[self.world.rng.below(roots.len())];
        for _ in 0..self.world.rng.below(20) {
            match self.edge_of(at) {
                Some((_, edge)) => at = edge.to,
                None => break,
            }
        }
        Some(at).filter(|&id| !self.world.model.get(id).is_emptied())
    }

    /// Some object with a trace function.
    fn any_traced(&mut self) -> Option<Id> {
        (0..40).find_map(|_| {
            let random = self.world.rng.word();
            let id = self.world.model.any(random)?;
            self.world.kinds.all[self.world.model.get(id).kind].counted.then_some(id)
        })
    }

    /// A slot of an object that is in use.
    fn edge_of(&mut self, id: Id) -> Option<(u32, Edge)> {
        let world = &mut self.world;
        let slots = &world.kinds.all[world.model.get(id).kind].slots;
        if slots.is_empty() {
            return None;
        }
        let from = world.rng.below(slots.len());
        let edges = &world.model.get(id).edges;
        let found = slots[from..].iter().chain(&slots[..from]).find(|slot| edges.contains_key(slot));
        found.map(|slot| (*slot, edges[slot]))
    }

    /// A slot of some object, rather an empty one.
    fn place(&mut self) -> Option<(Id, u32)> {
        let mut place = None;
        for _ in 0..5 {
            let Some(object) = self.any() else { continue };
            let slots = &self.world.kinds.all[self.world.model.get(object).kind].slots;
            if slots.is_empty() {
                continue;
            }
            let word = slots[self.world.rng.below(slots.len())];
            place = Some((object, word));
            if self.world.in_slot(object, word).is_none() {
                break;
            }
        }
        place
    }

    pub(super) fn allocate(&mut self, growing: bool) -> Outcome {
        let kind = self.world.kinds.choose(&mut self.world.rng);
        let (ty, zeroed) = (self.world.kinds.all[kind].ty, self.world.rng.one_in(4));
        let made = match zeroed {
            true => self.world.mutator().allocate_zeroed(ty),
            false => self.world.mutator().allocate(ty),
        };
        let at = made.map_err(|e| format!("an allocation failed: {e}"))?.as_ptr() as usize;
        self.came_between(None);
        self.world.kinds.all[kind].newborn(at, zeroed)?;
        self.fill((at, kind), growing, None)
    }

    /// Gives a new object its contents, and a place in the graph; an open arena may have passed it.
    fn fill(&mut self, (at, kind): (usize, usize), growing: bool, external_of: Option<usize>) -> Outcome {
        let id = self.world.model.add(at, kind, false);
        if let Some(open) = external_of {
            self.world.add_passed(open, id);
        }
        self.fresh.push(id);
        let k = &self.world.kinds.all[kind];
        let object = self.world.model.get(id);
        for w in (0..k.words()).filter(|&w| !k.is_slot[w]) {
            let value = if k.counted && w == 0 { k.slots.len() } else { object.pattern(w as u32) };
            // SAFETY: the object is new and has this word.
            unsafe { (at as *mut usize).add(w).write(value) };
        }
        let slots = k.slots.len();
        for _ in 0..self.world.rng.below(3).min(slots) {
            let word = self.world.kinds.all[kind].slots[self.world.rng.below(slots)];
            let Some(to) = self.any() else { continue };
            let edge = self.world.edge(id, to);
            // Stores that initialise need no barrier.
            // SAFETY: the object is new, and the word one of its slots.
            unsafe { self.world.slot_ptr(id, word).write(self.world.value(Some(edge))) };
            self.world.note_slot(id, word, Some(edge));
        }
        match self.place() {
            Some((object, word)) if !self.world.rng.one_in(if growing { 20 } else { 6 }) => {
                let edge = self.world.edge(object, id);
                self.store(object, word, Some(edge))
            }
            _ => {
                self.root(Edge { to: id, offset: 0 });
                Ok(())
            }
        }
    }

    /// Opens an arena, puts something into one, or ends one.
    pub(super) fn use_arenas(&mut self) -> Outcome {
        if self.world.rng.one_in(12) && !self.world.arenas.is_empty() {
            self.done.arenas_ended += self.is_marking() as usize;
            let is_marking = self.is_marking();
            return self.world.end_some_arena(is_marking);
        }
        let failed = |e| format!("an arena got nothing: {e}");
        if self.world.wants_arena() {
            let made = self.world.open_arena().map_err(failed)?;
            self.came_between(None);
            self.world.add_arena(made);
            return Ok(());
        }
        let open = self.world.rng.below(self.world.arenas.len());
        if !self.world.is_empty_arena(open) && self.world.rng.one_in(10) {
            let kind = self.world.kinds.choose(&mut self.world.rng);
            let at = self.world.pass(open, kind).map_err(failed)?;
            self.came_between(None);
            self.world.kinds.all[kind].newborn(at, false)?;
            return self.fill((at, kind), false, Some(open));
        }
        let kind = self.world.kinds.choose_in_arena(&mut self.world.rng);
        let is_masked = matches!(self.world.kinds.all[kind].lies, Storage::Values(_));
        let count = if is_masked && self.world.rng.one_in(8) { 1 + self.world.rng.below(5) } else { 1 };
        let at = self.world.room_in_arena(open, kind, count).map_err(failed)?;
        self.came_between(None);
        let roots = self.world.roots();
        let made = self.world.write_values((open, kind), (at, count), |world| {
            // One step from a root, or the root.
            let mut id = *roots.get(world.rng.below(roots.len().max(1)))?;
            let edges = &world.model.get(id).edges;
            if world.rng.one_in(2) && !edges.is_empty() {
                id = edges.values().map(|edge| edge.to).min()?;
            }
            Some(id)
        });
        let id = made[self.world.rng.below(made.len())];
        match self.place() {
            Some((object, word)) if self.world.rng.one_in(2) => {
                let edge = self.world.edge(object, id);
                self.store(object, word, Some(edge))
            }
            _ if self.world.rng.one_in(4) => {
                self.root(Edge { to: id, offset: 0 });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes some root refer to an object.
    fn root(&mut self, edge: Edge) {
        let world = &mut self.world;
        match world.rng.below(10) {
            0 => {
                let i = world.rng.below(world.ranges[0].means.len());
                world.set_range(0, i, Word::To(edge));
            }
            1 if world.handles.len() < 20 => {
                world.new_handle(Some(edge.to));
            }
            2 | 3 if !world.handles.is_empty() => {
                let i = world.rng.below(world.handles.len());
                self.set_handle(i, Some(edge.to));
            }
            4 if !world.frames.is_empty() => {
                let frame = world.rng.below(world.frames.len());
                let i = world.rng.below(world.frames[frame].means.len());
                world.set_frame(frame, i, Some(edge.to));
            }
            _ => {
                let i = world.rng.below(world.slots[0].means.len());
                world.set_slot(0, i, Some(edge.to));
            }
        }
    }

    fn set_handle(&mut self, i: usize, to: Option<Id>) {
        let value = to.map_or(0, |id| self.world.addr(id));
        let (handle, means) = &mut self.world.handles[i];
        // SAFETY: the handle is held, and the value null or an object's address.
        unsafe { self.world.heap.roots().set_handle(*handle, Address::new(value)) };
        *means = to;
    }

    pub(super) fn change_root(&mut self) -> Outcome {
        let world = &mut self.world;
        match world.rng.below(12) {
            0 if world.frames.len() < 5 => {
                let n = 1 + world.rng.below(5);
                world.push_frame(n);
            }
            1 => world.pop_frame(),
            2 if !world.handles.is_empty() => {
                let i = world.rng.below(world.handles.len());
                world.free_handle(i);
            }
            3 if !world.handles.is_empty() => {
                let i = world.rng.below(world.handles.len());
                self.set_handle(i, None);
            }
            4 => {
                let i = world.rng.below(world.ranges[0].means.len());
                world.set_range(0, i, Word::Null);
            }
            5..8 => {
                let i = world.rng.below(world.slots[0].means.len());
                world.set_slot(0, i, None);
            }
            _ => {
                if let Some(to) = self.any() {
                    self.root(Edge { to, offset: 0 });
                }
            }
        }
        Ok(())
    }

    /// Stores through the barrier, in one of its ways.
    fn store(&mut self, object: Id, word: u32, edge: Option<Edge>) -> Outcome {
        let (base, slot) = (self.world.addr(object), self.world.slot_ptr(object, word));
        let (old, new) = (self.world.word(object, word), self.world.value(edge));
        let way = self.world.rng.below(5);
        let (mutator, base, new) = (self.world.mutator(), ObjectRef::new(base), Address::new(new));
        match (way, &self.second) {
            (0, Some(second)) => second.store((base.get(), slot as usize, new.get())),
            (1, _) => {
                // SAFETY: the object exists, the word is a slot of it, the value what that may hold.
                let done = unsafe { mutator.barrier().cas(base, slot, Address::new(old), new) };
                if done != Ok(()) {
                    return Err(format!("a compare-and-swap found {done:x?} and not {old:#x}"));
                }
            }
            // SAFETY: as above; the source is a local.
            (2, _) => unsafe { mutator.barrier().copy(base, slot, &new.get(), 1) },
            // SAFETY: as above.
            (3, _) => unsafe { mutator.barrier().write_inside(slot, new) },
            // SAFETY: as above.
            _ => unsafe { mutator.barrier().write(base, slot, new) },
        }
        self.world.note_slot(object, word, edge);
        Ok(())
    }

    pub(super) fn link(&mut self) -> Outcome {
        let (Some((object, word)), Some(to)) = (self.place(), self.any()) else { return Ok(()) };
        let edge = self.world.edge(object, to);
        self.store(object, word, Some(edge))
    }

    pub(super) fn unlink(&mut self) -> Outcome {
        let Some(object) = self.any() else { return Ok(()) };
        match self.edge_of(object) {
            Some((word, _)) => self.store(object, word, None),
            None => Ok(()),
        }
    }

    /// Moves a pointer: to another object, which may have been scanned, or into a root.
    pub(super) fn hide(&mut self) -> Outcome {
        let traced = self.world.rng.one_in(3);
        let found = (0..6).find_map(|_| {
            let from = if traced { self.any_traced() } else { self.any() }?;
            Some((from, self.edge_of(from)?))
        });
        let Some((from, (word, edge))) = found else { return Ok(()) };
        self.done.moved += 1;
        match self.place() {
            Some((object, slot)) if !self.world.rng.one_in(3) && (object, slot) != (from, word) => {
                let moved = self.world.edge(object, edge.to);
                self.store(object, slot, Some(moved))?;
            }
            _ => self.root(Edge { to: edge.to, offset: 0 }),
        }
        self.store(from, word, None)
    }

    /// Copies slots of one slice into another, or within one.
    pub(super) fn copy(&mut self) -> Outcome {
        let mut slice = || {
            let id = (0..10).find_map(|_| {
                let id = self.any()?;
                self.world.kinds.all[self.world.model.get(id).kind].run_from.map(|_| id)
            })?;
            let kind = &self.world.kinds.all[self.world.model.get(id).kind];
            Some((id, kind.run_from?, kind.words() as u32))
        };
        let (Some(to), Some(from)) = (slice(), slice()) else { return Ok(()) };
        let world = &mut self.world;
        let longest = (to.2 - to.1).min(from.2 - from.1) as usize;
        let longest = if world.rng.one_in(4) { longest } else { longest.min(8) };
        let n = 1 + world.rng.below(longest) as u32;
        let source = from.1 + world.rng.below((from.2 - from.1 - n + 1) as usize) as u32;
        let target = to.1 + world.rng.below((to.2 - to.1 - n + 1) as usize) as u32;
        let edges: Vec<_> = (0..n).map(|i| world.in_slot(from.0, source + i)).collect();
        let stale: Vec<_> =
            (0..n).map(|i| world.model.get(from.0).stale.get(&(source + i)).copied()).collect();
        let base = ObjectRef::new(world.addr(to.0));
        let (slot, words) = (world.slot_ptr(to.0, target), world.slot_ptr(from.0, source));
        // SAFETY: both objects exist, and the words are slots of them.
        unsafe { world.mutator().barrier().copy(base, slot, words, n as usize) };
        for (i, edge) in edges.into_iter().enumerate() {
            world.note_slot(to.0, target + i as u32, edge);
            if let Some(stale) = stale[i] {
                world.model.get_mut(to.0).stale.insert(target + i as u32, stale);
            }
        }
        Ok(())
    }

    /// Frees an object, after what it refers to was put elsewhere and what refers to it cleared.
    pub(super) fn free(&mut self) -> Outcome {
        // Rather one that leads on.
        let found = (0..4).find_map(|_| self.any().filter(|&id| !self.world.model.get(id).edges.is_empty()));
        let Some(id) = found.or_else(|| self.any()) else { return Ok(()) };
        if self.world.model.get(id).arena.is_some() {
            return self.world.refuses_to_free(id);
        }
        // What an open arena keeps, its header among it, is not the program's to free.
        let is_kept = self.world.arenas.iter().any(|open| open.header == id)
            || self.world.left.iter().any(|left| left.1 == id)
            || self.world.model.arenas.values().any(|holds| holds.passed.contains(&id));
        if is_kept {
            return Ok(());
        }
        let kind = &self.world.kinds.all[self.world.model.get(id).kind];
        if (kind.counted || kind.ty.cell_size().is_none()) && !self.play.frees_all {
            return Ok(());
        }
        let mut referrers: Vec<(Id, u32)> = Vec::new();
        for (other, object) in self.world.model.all() {
            let slots = object.edges.iter().filter(|(_, edge)| edge.to == id);
            referrers.extend(slots.map(|(slot, _)| (other, *slot)));
        }
        let is_root = self.world.roots().contains(&id);
        if referrers.len() > 3 {
            return Ok(());
        }
        if is_root {
            self.unroot(id);
        }
        referrers.sort();
        let mut edges: Vec<Id> = self.world.model.get(id).edges.values().map(|edge| edge.to).collect();
        edges.sort();
        for to in edges.into_iter().filter(|to| *to != id).take(3) {
            match self.place() {
                Some((object, slot)) if object != id && self.world.rng.one_in(2) => {
                    let edge = self.world.edge(object, to);
                    self.store(object, slot, Some(edge))?;
                }
                _ => self.root(Edge { to, offset: 0 }),
            }
        }
        for (other, slot) in referrers {
            if self.world.in_slot(other, slot).is_some_and(|edge| edge.to == id) {
                self.store(other, slot, None)?;
            }
        }
        // It was not made a root or linked to meanwhile: nothing refers to it but perhaps itself.
        let at = self.world.addr(id);
        let object = NonNull::new(at as *mut u8).unwrap();
        // SAFETY: nothing refers to it.
        let freed = unsafe { self.world.mutator().free(object) };
        freed.map_err(|e| format!("{at:#x} could not be freed: {e}"))?;
        if self.world.mutator().find(at).is_some() {
            return Err(format!("{at:#x} exists after it was freed"));
        }
        // SAFETY: as above.
        match unsafe { self.world.mutator().free(object) } {
            Err(Refusal::Heap(_)) => {}
            other => return Err(format!("{at:#x} was freed twice: {other:?}")),
        }
        self.fresh.retain(|fresh| *fresh != id);
        self.done.freed += 1;
        let mut keep = vec![true; 1 + self.world.model.all().map(|(id, _)| id.0).max().unwrap()];
        keep[id.0] = false;
        self.world.model.forget_all_but(&keep);
        Ok(())
    }

    /// Takes an object out of all roots.
    fn unroot(&mut self, id: Id) {
        let world = &mut self.world;
        for block in 0..world.slots.len() {
            for i in 0..world.slots[block].means.len() {
                if world.slots[block].means[i] == Some(id) {
                    world.set_slot(block, i, None);
                }
            }
        }
        for i in 0..world.ranges[0].means.len() {
            if matches!(world.ranges[0].means[i], Word::To(edge) if edge.to == id) {
                world.set_range(0, i, Word::Null);
            }
        }
        for frame in 0..world.frames.len() {
            for i in 0..world.frames[frame].means.len() {
                if world.frames[frame].means[i] == Some(id) {
                    world.set_frame(frame, i, None);
                }
            }
        }
        for i in 0..self.world.handles.len() {
            if self.world.handles[i].1 == Some(id) {
                self.set_handle(i, None);
            }
        }
    }
}
