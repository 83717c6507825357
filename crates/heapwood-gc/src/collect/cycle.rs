//! One collection: sweep what is left of the last, stop the mutators, mark from the roots, decide when the next is due, let the
//! mutators go. Sweeping is left to allocation. A young collection is the same, but that it marks beside what is old
//! (docs/design/young.md).
//!
//! The registry's lock is held while the world is stopped, so threads that want to attach wait. Invariant: from the first
//! request to the last resume no ordinary allocator is called, for a stopped thread may be inside one.

use super::cause::Cause;
use super::collector::{Collector, Work};
use super::growth::Spent;
use super::halt::Halted;
use super::nursery::{Nursery, Yield};
use super::pace::Bounds;
use super::stepped::Stepping;
use crate::mark::{Marked, Marking, ScanRoots};
use crate::mutator::Mutator;
use crate::mutator::registry::Members;
use crate::observe::{Collected, Moment, RootBytes, Times};
use crate::roots::{LockedRoots, Source};
use crate::state::State;
use crate::state::barrier_bits::{MARK, YOUNG};
use core::sync::atomic::Ordering;
use heapwood_heap::{Collection, OpenSpans, Space, Stopped, Sweeping};
use heapwood_os::clock;

/// Even at the limit something can be tried before the next collection.
const LEAST_BUDGET: usize = 64 << 10;

/// What a collection has found, in bytes.
struct Found {
    /// How long that took, in nanoseconds, without waiting for others.
    ns: u64,
    /// What counted as alive before, was handed out since, and is alive now.
    old: usize,
    handed_out: usize,
    live: usize,
}

impl Found {
    fn freed(&self) -> usize {
        (self.old + self.handed_out).saturating_sub(self.live)
    }

    /// What it was worth, having begun so long after the last.
    fn worth(&self, since: u64) -> Yield {
        Yield { allocated: self.handed_out, freed: self.freed(), ns: self.ns, since }
    }
}

impl Collector {
    /// One collection, if `stop` stops the mutators.
    pub(super) fn run<E>(
        &self,
        state: &State,
        cause: Cause,
        work: &mut Work,
        stop: impl FnMut(&Members<'_, Mutator>) -> Result<(), E>,
    ) -> Result<(), E> {
        let space = state.space();
        let (began, reclaimed) = (Moment::now(), space.reclaim_clock().times());
        let gate = state.fork_gate();
        // What is left to sweep is swept before anyone waits, and the kernel is asked what it has to be asked. Between the pieces
        // the process may fork.
        while (gate.piece(), space.sweep_some(Sweeping::Collector)).1 {}
        let piece = gate.piece();
        space.finish_sweep();
        // If the background sweeper has a pack in hand, that is waited for now; it takes no other.
        let _sweeping = self.sweeping.lock();
        self.forget_given_up(space, work);
        let wants_young = cause.is_for_young(state, &work.nursery);
        let bounds = (!wants_young).then(|| self.bounds(space));
        if !wants_young {
            work.marking.prepare(space);
        }

        drop(piece);
        let Halted { requested, mut members, roots, piece } = self.halt(state, stop)?;
        let stopped = Moment::now();
        let stores = members.iter().map(Mutator::close_stores).sum();
        let overflowed = state.remembered().has_overflowed();
        let stepping = work.stepping.is_concerned(cause);
        // What is missing from the remembered set only a full collection finds, or a promotion wholesale, which costs little, but
        // frees nothing.
        let of = match wants_young && (!overflowed || !cause.is_programs()) {
            true => Collection::Young,
            false => Collection::Full,
        };

        // SAFETY: all have stopped, and none attaches while the registry's lock is held; one thread collects.
        let world = unsafe { space.stopped() };
        members.owners().for_each(|owner| owner.publish());
        #[cfg(feature = "inspect")]
        self.snapshots().before_marking(space);
        if let Some(verify) = self.verify() {
            verify.before_marking((space, &world), state.stores(), &roots, &members);
        }
        let root_bytes = match self.tracing().tells_collections() {
            true => self.root_bytes(of, &roots, &members),
            false => RootBytes::default(),
        };
        let (old, goal) = (state.live(), state.goal().load(Ordering::Relaxed));
        let (marking, reclaimed) = (Moment::now(), [reclaimed, space.reclaim_clock().times()]);
        let since = began.wall.saturating_sub(work.ended);
        let time = match state.young_time() {
            Some(set) => set,
            None if cause.is_stepped() => u64::MAX,
            None => work.nursery.most_time(since),
        };
        let late_at = marking.wall.saturating_add(time);
        let until = (work.nursery.is_on() && !overflowed).then_some(late_at);
        let with = (&mut work.marking, &mut work.stepping);
        // A full marking may take long, and what it writes can be forgotten: the process may fork meanwhile.
        let piece = (of == Collection::Young || stepping).then_some(piece);
        let marked = state.while_marking(|| match stepping {
            false => self.mark((state, &world), with.0, (&roots, &members), of, until),
            true => self.mark_stepped((state, &world), with, (&roots, &members), of, until),
        });
        let piece = piece.unwrap_or_else(|| gate.piece());
        state.faults().forget_young_large(&world, of);
        let marked_at = Moment::now();
        let all = world.handed_out(members.owners());
        let left_by_arenas = world.left_by_arenas();
        let handed_out = all.saturating_sub(left_by_arenas);
        // A young collection frees nothing of what arenas have left.
        work.left_by_arenas = match of {
            Collection::Full => 0,
            Collection::Young => work.left_by_arenas + left_by_arenas,
        };
        let live = match of {
            Collection::Full => marked.bytes,
            // What was handed out is less what was freed, of which some was old.
            Collection::Young if space.has_explicit_frees() => old + marked.bytes.min(handed_out),
            Collection::Young => old + marked.bytes,
        };
        let found = Found { ns: marked_at.wall - stopped.wall, old, handed_out, live };
        work.spent += marked_at.cpu.saturating_sub(began.cpu) + marked.helpers_cpu_ns;
        let goal_now = match of {
            Collection::Young => goal,
            Collection::Full => {
                state.set_live_in_full(live);
                let growth = self.growth(work, &found, space, world.open_spans(members.owners()));
                // Found out in the stop, this costs those that wait a look into /proc, at most.
                self.pacer().goal(live, growth, bounds.unwrap_or_else(|| self.bounds(space)))
            }
        };
        state.set_sizes(live, goal_now);
        match of {
            Collection::Full => work.nursery.after_full(found.worth(since), overflowed),
            Collection::Young if until.is_none() => work.nursery.after_promotion(overflowed),
            Collection::Young => work.nursery.after_young(found.worth(since), stores),
        }
        let size = live + work.left_by_arenas;
        let budget = work.nursery.budget(size, goal_now).max(LEAST_BUDGET);
        world.end_marking(of, members.owners(), budget, goal_now);
        self.roots().forget_changes();
        self.set_barriers(state, &work.nursery, &work.stepping, &members);
        #[cfg(feature = "inspect")]
        self.snapshots().after_marking(space, &world);
        state.faults().free_survivors(&world);
        if let Some(verify) = self.verify() {
            let exact = of == Collection::Full && !cause.is_stepped();
            verify.after_marking(exact, (space, &world, of), state.stores(), &roots, &members);
        }
        state.count_collection(of, handed_out);

        drop(world);
        drop(roots);
        members.resume();
        if self.stops_by_signals() {
            self.registry().remove_gone(&mut members);
        }
        drop(members);
        gate.set_held(0);
        if of == Collection::Full {
            space.settle_arenas(cause.is_for_room());
        }
        drop(piece);
        let ended = Moment::now();
        work.ended = ended.wall;
        let helped = (marked.helpers_cpu_ns, marked.helpers);
        let times = Times { began, requested, stopped, marking, marked: marked_at, ended, helped, reclaimed };
        self.record().lock().add(&times, &marked, of, self.verify().is_some());
        self.tracing().add(&times);
        if self.tracing().tells_collections() {
            let (number, sizes, forced) =
                (state.collections(), (old + handed_out, live), !cause.is_allocation());
            let collected = Collected { number, of, sizes, goal, roots: root_bytes, forced };
            self.tracing().tell_collection(space, &times, &collected);
        }
        work.marking.settle();
        Ok(())
    }

    /// What bounds the goal. May ask the kernel.
    fn bounds(&self, space: &Space) -> Bounds {
        self.pacer().bounds(space.resident_bytes())
    }

    /// How much may be allocated after a full collection before the next, by what all since the last one took.
    fn growth(&self, work: &mut Work, found: &Found, space: &Space, open: OpenSpans) -> usize {
        let (now, starved) = (clock::process_cpu_ns(), space.reclaim_clock().times().starved_ns);
        let spent = Spent {
            collecting_ns: work.spent + (starved - work.starved),
            all_ns: now.saturating_sub(work.spent_by_all),
            in_vain: found.freed() < (found.old + found.handed_out) / 4,
        };
        (work.spent, work.spent_by_all, work.starved) = (0, now, starved);
        work.growth.after_full(found.live, self.pacer().percent(), open, spent)
    }

    /// Empties the remembered set, and sets what the barriers of all mutators do until the next collection.
    fn set_barriers(
        &self,
        state: &State,
        nursery: &Nursery,
        stepping: &Stepping,
        members: &Members<'_, Mutator>,
    ) {
        state.remembered().clear(nursery.most_remembered());
        let mutators = members.iter().count().max(1) as u64;
        state.remembered().allow_stores(nursery.most_stores() / mutators);
        state.set_barrier(YOUNG, nursery.is_on());
        state.set_barrier(MARK, stepping.is_under_way());
        for mutator in members.iter() {
            mutator.forget_stores();
            mutator.update_barrier();
        }
    }

    /// How many bytes of roots there are, while the mutators are stopped.
    fn root_bytes(
        &self,
        of: Collection,
        roots: &LockedRoots<'_>,
        members: &Members<'_, Mutator>,
    ) -> RootBytes {
        let mut bytes = RootBytes::default();
        let threads = members.iter().map(|m| m.roots(self.scans_stacks()));
        roots.for_each(of, threads, |source, words| {
            *(if source == Source::Stack { &mut bytes.stacks } else { &mut bytes.others }) += words.len();
        });
        bytes
    }

    /// Names the roots to a marker.
    pub(super) fn scan(
        &self,
        roots: &LockedRoots<'_>,
        members: &Members<'_, Mutator>,
        of: Collection,
        marker: &mut dyn ScanRoots,
    ) {
        let threads = members.iter().map(|m| m.roots(self.scans_stacks()));
        roots.for_each(of, threads, |source, words| match source {
            Source::Arena => marker.arena(words),
            _ if source.is_precise() => marker.slots(words),
            _ => marker.words(words),
        });
    }

    /// Marks from the roots; what is young, and what is remembered, until a time at which the rest is promoted, and without one
    /// all of it is.
    fn mark(
        &self,
        (state, world): (&State, &Stopped<'_>),
        marking: &mut Marking,
        (roots, members): (&LockedRoots<'_>, &Members<'_, Mutator>),
        of: Collection,
        young: Option<u64>,
    ) -> Marked {
        let scan = |marker: &mut dyn ScanRoots| self.scan(roots, members, of, marker);
        let marked = match (of, young) {
            (Collection::Full, _) => return marking.mark(state, world, scan),
            (Collection::Young, None) => Marked { late: true, ..Marked::default() },
            (Collection::Young, Some(until)) => marking.mark_young(state, world, until, |marker| {
                scan(marker);
                scan_remembered(state, marker);
            }),
        };
        match marked.late {
            true => marked.promoted(world.promote(members.owners())),
            false => marked,
        }
    }
}

/// Names what is remembered to a marker, until it is late.
pub(super) fn scan_remembered(state: &State, marker: &mut dyn ScanRoots) {
    state.remembered().for_each(|entry| match entry {
        Some(entry) => {
            marker.remembered(entry);
            true
        }
        None => !marker.is_late(),
    });
}
