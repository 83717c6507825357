//! The program's use of finalisers of every order: it registers objects of the graph, some of which lead to each other, cancels, takes
//! what comes, keeps some of that and registers it again. Invariants: nothing comes that was reachable at each collection since it was
//! registered, nothing twice, no ordered object before another that leads to it; where only precise roots count, all comes
//! that is dead and waits for nothing. Circles wait for good, until they are cancelled.

use super::check::Outcome;
use super::world::World;
use core::ptr::NonNull;
use heapwood_gc::{FinalizeOrder, FinalizerQueue, FinalizerToken, HeapBox, Refusal};
use heapwood_gc_testing::model::graph::Id;
use std::collections::BTreeMap;

/// Registrations at once.
const MOST: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ordered,
    AtOnce,
    Data,
}

impl Kind {
    /// Whether the object comes back.
    fn is_object(self) -> bool {
        self != Kind::Data
    }
}

/// What is registered, until it has come.
#[derive(Clone, Copy, Debug)]
struct Will {
    id: Id,
    kind: Kind,
    queue: FinalizerQueue,
    token: FinalizerToken,
    /// A collection has found the object dead.
    may_come: bool,
    /// It is on the queue.
    held: bool,
    /// Of data: the object is gone, and is an object of the model no more; and the heap must know.
    is_gone: bool,
    is_due: bool,
}

/// All that is registered or queued.
pub(crate) struct Wills {
    all: BTreeMap<usize, Will>,
    queues: [FinalizerQueue; 2],
    tags: usize,
    /// What comes is not kept.
    pub(super) is_ending: bool,
    /// Ordered objects that came, those at once, data; and how often one has waited.
    pub(crate) came: [usize; 4],
}

/// An entry as it was taken.
struct Taken {
    tag: usize,
    will: Will,
}

impl Wills {
    pub(super) fn new(heap: &HeapBox) -> Self {
        let queues = [FinalizerQueue::default(), heap.new_finalizer_queue().unwrap()];
        Wills { all: BTreeMap::new(), queues, tags: 1, is_ending: false, came: [0; 4] }
    }

    /// Objects that come back, or wait to.
    pub(super) fn objects(&self) -> impl Iterator<Item = Id> {
        self.all.values().filter(|will| will.kind.is_object()).map(|will| will.id)
    }

    /// Those that queues keep.
    pub(super) fn held(&self) -> impl Iterator<Item = Id> {
        self.all.values().filter(|will| will.held).map(|will| will.id)
    }

    /// Those that may wait for each other.
    pub(super) fn ordered(&self) -> impl Iterator<Item = Id> {
        self.all.values().filter(|will| will.kind == Kind::Ordered).map(|will| will.id)
    }

    /// Whether an object has a finaliser.
    pub(super) fn has(&self, id: Id) -> bool {
        self.all.values().any(|will| !will.is_gone && will.id == id)
    }

    /// Whether queues keep something.
    pub(super) fn is_holding(&self) -> bool {
        self.all.values().any(|will| will.held)
    }

    /// A collection has marked `first` before finalisers, and `kept` after them; ordered objects that are `led` to have waited.
    pub(super) fn settle(
        &mut self,
        (first, led, kept): (&[bool], &[bool], &[bool]),
        (is_full, sure): (bool, bool),
    ) {
        for will in self.all.values_mut() {
            if will.kind.is_object() {
                let is_dead = !first[will.id.0];
                let waits = sure && is_dead && will.kind == Kind::Ordered && led[will.id.0];
                self.came[3] += usize::from(waits);
                will.may_come = will.may_come && will.held || is_dead && !waits;
                // Where more may be kept than the model knows nobody knows what is queued.
                will.held = sure && (will.held || is_dead && !waits);
                continue;
            }
            let is_gone_now = !will.is_gone && !kept[will.id.0];
            will.is_gone |= is_gone_now;
            will.may_come |= is_gone_now;
            will.is_due |= sure && (is_gone_now || is_full && will.is_gone);
        }
    }
}

impl World {
    pub(super) fn use_finalizers(&mut self) -> Outcome {
        if self.rng.one_in(6) {
            return self.cancel_finalizer();
        }
        let Some(mut id) = self.any_in_heap() else { return Ok(()) };
        for _ in 0..1 + self.rng.below(3) {
            self.register(id)?;
            let edges: Vec<Id> = self.model.get(id).edges.values().map(|edge| edge.to).collect();
            // What it leads to has to wait for it.
            let Some(next) = edges.into_iter().filter(|&to| self.is_in_heap(to)).min() else { break };
            id = next;
        }
        Ok(())
    }

    fn register(&mut self, id: Id) -> Outcome {
        if self.wills.all.len() >= MOST {
            return Ok(());
        }
        let kind = [Kind::Ordered, Kind::AtOnce, Kind::Data][self.rng.below(3)];
        let queue = self.wills.queues[self.rng.below(2)];
        self.wills.tags += 1;
        let (tag, object) =
            (self.wills.tags, NonNull::new(self.addr(id) as *mut u8).expect("no object is null"));
        let token = match kind {
            Kind::Ordered => self.mutator().finalize(object, queue, FinalizeOrder::Ordered, tag),
            Kind::AtOnce => self.mutator().finalize(object, queue, FinalizeOrder::AtOnce, tag),
            Kind::Data => self.mutator().finalize_data(object, queue, tag),
        };
        let token = token.map_err(|e| format!("registering {object:?} was refused: {e}"))?;
        let will =
            Will { id, kind, queue, token, may_come: false, held: false, is_gone: false, is_due: false };
        self.wills.all.insert(tag, will);
        Ok(())
    }

    /// Takes one back, unless it is queued.
    fn cancel_finalizer(&mut self) -> Outcome {
        let from = self.rng.below(self.wills.tags);
        let Some((&tag, _)) = self.wills.all.range(from..).next() else { return Ok(()) };
        self.cancel(tag)
    }

    fn cancel(&mut self, tag: usize) -> Outcome {
        let will = self.wills.all[&tag];
        match self.heap.cancel_finalizer(will.token) {
            Ok(back) if back == tag && !will.is_due && !will.held => _ = self.wills.all.remove(&tag),
            Err(Refusal::FinalizerQueued) if will.may_come => {}
            other => return Err(format!("cancelling {tag} ({will:?}) gave {other:?}")),
        }
        Ok(())
    }

    /// After a check, mostly: takes all that has come.
    pub(super) fn look_at_queues(&mut self, sure: bool) -> Outcome {
        if self.has_weak() && (self.wills.is_ending || !sure || !self.rng.one_in(4)) {
            return self.take_all();
        }
        Ok(())
    }

    fn take_all(&mut self) -> Outcome {
        let mut taken = Vec::new();
        for queue in self.wills.queues {
            let next = |world: &World| {
                world.mutator().next_finalized(queue).map_err(|e| format!("taking was refused: {e}"))
            };
            while let Some(entry) = next(self)? {
                let tag = entry.tag;
                let Some(will) = self.wills.all.remove(&tag) else {
                    return Err(format!("entry {tag} came twice, or was never registered"));
                };
                let object = entry.object.map_or(0, |object| object.as_ptr() as usize);
                let wanted = if will.kind.is_object() { self.addr(will.id) } else { 0 };
                if !will.may_come || object != wanted || queue != will.queue {
                    return Err(format!("entry {tag} came early, or wrong: {entry:x?} of {will:?}"));
                }
                taken.push(Taken { tag, will });
            }
        }
        if let Some((tag, will)) = self.wills.all.iter().find(|(_, will)| will.is_due || will.held) {
            return Err(format!(
                "{tag} ({will:?}) has not come, though its object is dead, and waits for none"
            ));
        }
        // The heap may queue them in the order of their addresses, which differ from run to run.
        taken.sort_unstable_by_key(|taken| taken.tag);
        for Taken { will, .. } in taken {
            self.wills.came[will.kind as usize] += 1;
            if will.kind.is_object() && !self.wills.is_ending && self.rng.one_in(2) {
                self.model.revive(will.id);
                self.root(will.id);
                if self.rng.one_in(3) {
                    self.register(will.id)?;
                }
            }
        }
        Ok(())
    }

    /// Cancels what is not queued, takes the rest, and keeps none of it.
    pub(super) fn end_finalizers(&mut self) -> Outcome {
        self.wills
            .all
            .keys()
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|tag| self.cancel(tag))?;
        self.wills.is_ending = true;
        let taken = self.take_all();
        self.wills.is_ending = false;
        taken?;
        match (self.wills.all.is_empty(), self.heap.finalizers()) {
            (true, (0, 0)) => Ok(()),
            (_, counts) => Err(format!("{:?} has not come, and the heap has {counts:?}", self.wills.all)),
        }
    }

    /// Drops everything, and sees all that is registered come, but what waits for good.
    pub(super) fn see_all_come(&mut self) -> Outcome {
        if !self.settings.exact() || !self.has_weak() {
            return self.end_finalizers();
        }
        self.wills.is_ending = true;
        for _ in 0..=self.wills.all.len() {
            self.drop_all_roots();
            self.leave_all_arenas()?;
            self.collect_all(super::check::Depth::Sweep)?;
        }
        self.wills.is_ending = false;
        self.end_finalizers()
    }
}
