//! The program. Invariant: of objects of the model all those exist that could be reached at the last collection or were made since,
//! and nothing but roots and objects of the model refers to them.

use super::second::Second;
use crate::oracle::check::{self, Depth, Outcome};
use crate::oracle::settings::{ALL, Settings};
use crate::oracle::world::World;
use heapwood_gc::Config;
use heapwood_gc::settings::options::Generational;
use heapwood_gc_testing::model::graph::{Id, Masked};
use heapwood_heap::Address;

/// What is played.
#[derive(Clone, Copy)]
pub(crate) struct Play {
    pub(crate) config: Config,
    /// A second thread stores, too.
    pub(crate) two: bool,
    /// No layout has spans of its own.
    pub(crate) mixed: bool,
    /// The program frees objects itself,
    pub(crate) frees: bool,
    /// also large ones and such that have a trace function: if something goes wrong with those the collector ends the process.
    pub(crate) frees_all: bool,
    /// A step of the marking follows so many edges at most.
    pub(crate) edges: usize,
    /// Pointers have tags.
    pub(crate) tagged: bool,
}

impl Play {
    pub(crate) fn new(generational: Generational) -> Self {
        // Large enough for full collections to come when they are asked for.
        let config = ALL[0].config.min_heap(256 << 20).background_release(false).generational(generational);
        Play { config, two: false, mixed: false, frees: true, frees_all: true, edges: 6, tagged: false }
    }

    pub(crate) fn is_generational(&self) -> bool {
        self.config.generational == Generational::Always
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// Markings that ended when they were asked to.
    pub(crate) markings: usize,
    /// Collections in the middle of one.
    pub(crate) between: usize,
    /// Objects that were reachable when a marking began and could not be reached when it ended.
    pub(crate) floating: usize,
    /// Pointers that were moved.
    pub(crate) moved: usize,
    pub(crate) freed: usize,
    /// Arenas that were ended while a marking went on.
    pub(crate) arenas_ended: usize,
    /// Objects found dead that were when the marking began, and such that were made while it went on.
    pub(crate) dead: usize,
    pub(crate) young_dead: usize,
    /// How often a mark stack was full.
    pub(crate) overflows: u64,
}

pub(crate) struct Program {
    // First: its thread uses the world's heap.
    pub(super) second: Option<Second>,
    pub(crate) world: World,
    pub(super) play: Play,
    pub(crate) done: Done,
    collections: u64,
    /// A marking is under way; what was dead when it began.
    marking: Option<Vec<Masked>>,
    /// Objects made since the last collection.
    pub(super) fresh: Vec<Id>,
}

impl Program {
    pub(crate) fn new(play: Play, seed: u64) -> Self {
        let settings = Settings {
            config: play.config,
            mixed: play.mixed,
            tagged: play.tagged,
            collect_every: usize::MAX,
            ..ALL[0]
        };
        let mut world = World::new(settings, seed);
        world.is_exact = true;
        // SAFETY: it is dropped before the world.
        let second = play.two.then(|| unsafe { Second::start(&world.heap) });
        Program {
            second,
            world,
            play,
            done: Done::default(),
            collections: 0,
            marking: None,
            fresh: Vec::new(),
        }
    }

    /// Builds a graph, and then plays markings with so many steps of the program each.
    pub(crate) fn run(&mut self, markings: usize, steps: usize) -> Result<Done, String> {
        for _ in 0..2500 {
            self.allocate(true)?;
        }
        for _ in 0..1500 {
            self.link()?;
        }
        for marking in 0..markings {
            self.marking(steps).map_err(|what| format!("marking {marking}: {what}"))?;
            for _ in 0..self.world.rng.below(steps) {
                self.step()?;
            }
            if self.world.rng.one_in(3) {
                self.collect_all()?;
            }
            self.thin_out();
        }
        self.collect_all()?;
        self.done.overflows = self.world.heap.inspect().stats().mark_overflows;
        Ok(self.done)
    }

    fn marking(&mut self, steps: usize) -> Outcome {
        if !self.world.mutator().incremental_marking().begin().unwrap() {
            return Err("no marking began".into());
        }
        // What a young collection finds dead is free at once, and perhaps used again meanwhile.
        let mut dead = self.after_collection(None);
        dead.retain(|at| self.world.heap.space().is_old(Address::new(at.addr())));
        self.marking = Some(dead);
        let before = self.reachable();
        for step in 0..steps {
            self.step()?;
            if self.marking.is_none() {
                return Ok(());
            }
            let edges = self.world.rng.below(self.play.edges);
            let left = self.world.mutator().incremental_marking().step(edges).unwrap();
            // What comes after all is marked is of less interest.
            if !left && edges > 0 && step > steps / 4 && self.world.rng.one_in(20) {
                break;
            }
        }
        self.end(before)
    }

    fn end(&mut self, before: Vec<Id>) -> Outcome {
        if !self.world.mutator().incremental_marking().finish().unwrap() {
            return Err("the marking had ended".into());
        }
        self.done.markings += 1;
        let dead = self.marking.take().unwrap();
        let fresh: Vec<Masked> = self.fresh.iter().map(|id| self.world.model.get(*id).at).collect();
        let gone = self.after_collection(None);
        self.done.floating += before.iter().filter(|id| !self.exists(**id)).count();
        self.look()?;
        self.world.heap.memory().finish_sweep();
        let mut left = 0;
        for at in &dead {
            if let Some(found) = self.world.heap.objects().find(at.addr()) {
                // A log without room shades whole spans, with what is dead in them.
                if self.play.config.mark_stack.is_some() {
                    left += 1;
                    continue;
                }
                return Err(format!("what was dead at {:#x} still exists: {found:x?}", at.addr()));
            }
        }
        self.done.dead += dead.len() - left;
        // Of what was made since the last collection something that is dead may have kept some.
        let is_gone = |at: &&Masked| gone.contains(at) && self.world.heap.objects().find(at.addr()).is_none();
        self.done.young_dead += fresh.iter().filter(is_gone).count();
        self.look()?;
        // SAFETY: of the two threads one is this, and the other waits in a blocking region.
        unsafe { self.world.heap.inspect().is_valid() }
            .map_err(|e| format!("the space is not valid: {e}"))?;
        match self.world.heap.inspect().stats().barrier_violations {
            0 => Ok(()),
            n => Err(format!("{n} stores went around the barrier")),
        }
    }

    pub(super) fn is_marking(&self) -> bool {
        self.marking.is_some()
    }

    fn exists(&self, id: Id) -> bool {
        self.world.model.all().any(|(other, _)| other == id)
    }

    /// Everything that can be reached is there, with its contents.
    fn look(&self) -> Outcome {
        self.reachable().into_iter().try_for_each(|id| check::object(&self.world, id))
    }

    fn reachable(&self) -> Vec<Id> {
        self.world.model.reachable(self.world.roots().into_iter()).1
    }

    /// A collection has come: what cannot be reached, but for an object that is being made, may be gone. Returns where that was.
    fn after_collection(&mut self, newest: Option<Id>) -> Vec<Masked> {
        self.collections = self.world.heap.inspect().stats().collections;
        self.fresh.clear();
        let mut roots = self.world.roots();
        roots.extend(newest);
        let (reached, _) = self.world.model.reachable(roots.into_iter());
        self.world.let_go_of_headers();
        self.world.model.forget_all_but(&reached)
    }

    /// A full collection, which leaves exactly what can be reached.
    fn collect_all(&mut self) -> Outcome {
        let before = self.world.heap.inspect().stats().collections;
        self.world.mutator().collect().unwrap();
        if self.world.heap.inspect().stats().collections != before + 1 {
            return Err("a collection too many".into());
        }
        check::after_collection(&mut self.world, Depth::Whole, None)?;
        self.after_collection(None);
        Ok(())
    }

    /// Drops roots when there is too much.
    fn thin_out(&mut self) {
        let world = &mut self.world;
        if world.model.all().count() < 4000 {
            return;
        }
        for block in 0..world.slots.len() {
            for i in 0..world.slots[block].means.len() {
                if world.rng.one_in(2) {
                    world.set_slot(block, i, None);
                }
            }
        }
    }

    fn step(&mut self) -> Outcome {
        if self.world.rng.one_in(20) {
            return self.use_plain();
        }
        match self.world.rng.below(100) {
            0..10 => self.use_arenas(),
            10..30 => self.allocate(false),
            30..46 => self.link(),
            46..60 => self.unlink(),
            60..76 => self.hide(),
            76..81 => self.copy(),
            81..91 => self.change_root(),
            91..98 if self.play.frees => self.free(),
            98 if self.world.rng.one_in(4) => self.collect_young(),
            _ => {
                self.world.mutator().safepoint();
                Ok(())
            }
        }
    }

    fn collect_young(&mut self) -> Outcome {
        if !self.play.is_generational() {
            return Ok(());
        }
        self.world.mutator().collect_young().unwrap();
        self.came_between(None);
        Ok(())
    }

    /// If a collection has come: if a marking was under way, that goes on after a young one.
    pub(super) fn came_between(&mut self, newest: Option<Id>) {
        if self.world.heap.inspect().stats().collections != self.collections {
            self.done.between += self.marking.is_some() as usize;
            self.after_collection(newest);
        }
    }
}
