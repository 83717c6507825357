//! A full marking beside the program, in steps: a setting. After each step of the program it follows a few edges, while the program moves
//! the only pointers to objects from where it has not been to where it has, and frees objects that only lead on. Invariant: what can be
//! reached when the marking ends is there; what was dead when it began is gone, unless something weak led the program to it.

use super::check::{self, Depth, Outcome};
use super::world::World;
use heapwood_gc_testing::model::graph::{Edge, Id, Masked, Pair};
use heapwood_heap::Address;
use std::collections::BTreeSet;

impl World {
    pub(super) fn is_marking(&self) -> bool {
        self.marking.is_some()
    }

    /// Begins a marking now and then, goes on with one, and ends it.
    pub(super) fn mark_on(&mut self) -> Outcome {
        match (self.settings.edges, self.is_marking()) {
            (0, _) => Ok(()),
            (_, false) if self.rng.one_in(100) => self.begin_marking(),
            (_, false) => Ok(()),
            (edges, true) => {
                let edges = self.rng.below(edges);
                let goes_on = self.mutator().incremental_marking().step(edges).unwrap();
                // What comes after all is marked is of less interest.
                match !goes_on && edges > 0 && self.rng.one_in(20) || self.rng.one_in(600) {
                    true => self.finish_marking(),
                    false => Ok(()),
                }
            }
        }
    }

    fn begin_marking(&mut self) -> Outcome {
        // What comes from a queue meanwhile was a root.
        let kept = self.kept();
        if !self.mutator().incremental_marking().begin().unwrap() {
            return Err("no marking began".into());
        }
        // Until a collection in a stop the heap may keep more than the model knows.
        (self.freed, self.freed_large, self.is_unsure) = (true, true, true);
        self.marking = Some(Vec::new());
        check::after_collection(self, Depth::Look, None)?;
        // What a young collection finds dead is free at once, and perhaps used again meanwhile.
        let is_old = |at: Masked| self.heap.space().is_old(Address::new(at.addr()));
        let all = self.model.all().filter(|(_, object)| object.arena.is_none()).map(|(_, object)| object.at);
        self.marking = Some(all.filter(|at| !kept.contains(at) && is_old(*at)).collect());
        Ok(())
    }

    /// Where the objects are that roots and finalisers lead to.
    fn kept(&self) -> BTreeSet<Masked> {
        self.led_to(self.roots().into_iter().chain(self.wills.objects()))
    }

    fn led_to(&self, ids: impl Iterator<Item = Id>) -> BTreeSet<Masked> {
        self.model.reachable(ids).1.into_iter().map(|id| self.model.get(id).at).collect()
    }

    /// Ends a marking if there is one.
    pub(super) fn finish_marking(&mut self) -> Outcome {
        let Some(mut dead) = self.marking.take() else { return Ok(()) };
        if !self.mutator().incremental_marking().finish().unwrap() {
            return Err("the marking had ended".into());
        }
        self.markings += 1;
        (self.freed, self.freed_large, self.is_unsure) = (true, true, true);
        let kept = self.kept();
        dead.retain(|at| !kept.contains(at));
        check::after_collection(self, Depth::Whole, None)?;
        // A log without room shades whole spans, with what is dead in them.
        let is_there = |at: &&Masked| self.heap.objects().find(at.addr()).is_some();
        match dead.iter().find(is_there) {
            Some(at) if self.settings.config.mark_stack.is_none() => {
                Err(format!("what was dead at {:#x} when the marking began still exists", at.addr()))
            }
            _ => Ok(()),
        }
    }

    /// The program has read something weak: the marking under way keeps this, and what it leads to.
    pub(super) fn has_read(&mut self, ids: impl Iterator<Item = Id>) {
        if self.is_marking() {
            let kept = self.led_to(ids);
            // One whose key nobody knows may lead to any.
            let is_unknown = self.model.all().any(|(_, object)| object.pair == Some(Pair::Unknown));
            self.marking.iter_mut().for_each(|dead| dead.retain(|at| !is_unknown && !kept.contains(at)));
        }
    }

    /// Moves a pointer: to another object, which may have been scanned, or into a root.
    pub(super) fn hide(&mut self) -> Outcome {
        let traced = self.rng.one_in(3);
        let found = (0..6).find_map(|_| {
            let from = if traced { self.any_traced() } else { self.walk() }?;
            Some((from, self.edge_of(from)?))
        });
        let Some((from, (word, edge))) = found else { return Ok(()) };
        self.move_to_another(edge.to, (from, word))?;
        self.store_at(from, word, None)
    }

    /// Has something else refer to an object, but not this word.
    pub(super) fn move_to_another(&mut self, to: Id, but: (Id, u32)) -> Outcome {
        match self.place() {
            Some((object, word)) if !self.rng.one_in(3) && (object, word) != but => {
                let moved = self.edge(object, to);
                self.store_at(object, word, Some(moved))
            }
            _ => {
                self.root(to);
                Ok(())
            }
        }
    }

    fn any_traced(&mut self) -> Option<Id> {
        (0..40).find_map(|_| {
            let id = self.model.any(self.rng.word())?;
            self.kinds.all[self.model.get(id).kind].counted.then_some(id)
        })
    }

    /// A slot of an object that is in use.
    fn edge_of(&mut self, id: Id) -> Option<(u32, Edge)> {
        let slots = &self.kinds.all[self.model.get(id).kind].slots;
        if slots.is_empty() {
            return None;
        }
        let from = self.rng.below(slots.len());
        let edges = &self.model.get(id).edges;
        let found = slots[from..].iter().chain(&slots[..from]).find(|slot| edges.contains_key(slot));
        found.map(|slot| (*slot, edges[slot]))
    }
}
