//! A full marking that goes on while mutators run, in steps that they ask for: the oracle of the write barrier's half of
//! concurrent marking (feature `stepped`). It is bracketed by young collections: one begins it, in whose stop the snapshot is
//! taken, so that all that exists then has its allocation bit; another ends it, in whose stop what is left is marked and the
//! sides swap. Those between mark what outlives them for both. Where there are no young collections, or not all that they would
//! need was remembered, all that was made is promoted instead, which needs no more than the bounds of what was handed out.
//! Invariant: while it is under way the flag of every mutator's barrier says so, and nothing loses its allocation bit.

#[cfg(feature = "stepped")]
pub(super) use under_way::Stepping;

/// Without the feature none is ever under way.
#[cfg(not(feature = "stepped"))]
pub(super) struct Stepping;

#[cfg(not(feature = "stepped"))]
mod never {
    use super::super::cause::Cause;
    use super::super::collector::Collector;
    use super::Stepping;
    use crate::mark::{Marked, Marking};
    use crate::mutator::Mutator;
    use crate::mutator::registry::Members;
    use crate::roots::LockedRoots;
    use crate::state::State;
    use heapwood_heap::{Collection, Stopped};

    impl Stepping {
        pub(in crate::collect) fn new() -> Self {
            Stepping
        }

        pub(in crate::collect) fn is_under_way(&self) -> bool {
            false
        }

        pub(in crate::collect) fn is_concerned(&self, _: Cause) -> bool {
            false
        }
    }

    impl Collector {
        pub(in crate::collect) fn mark_stepped(
            &self,
            _: (&State, &Stopped<'_>),
            _: (&mut Marking, &mut Stepping),
            _: (&LockedRoots<'_>, &Members<'_, Mutator>),
            _: Collection,
            _: Option<u64>,
        ) -> Marked {
            unreachable!("no marking is under way")
        }
    }
}

#[cfg(feature = "stepped")]
mod under_way {
    use super::super::cause::Cause;
    use super::super::collector::Collector;
    use super::super::cycle::scan_remembered;
    use crate::error::MisuseError;
    use crate::inject::Fault;
    use crate::mark::{Marked, Marking, ScanRoots, SteppedMarking};
    use crate::mutator::registry::Members;
    use crate::mutator::{Mutator, Rest};
    use crate::roots::LockedRoots;
    use crate::state::State;
    use heapwood_heap::{Collection, Stopped};

    /// The marking that is under way, if there is one.
    pub(in crate::collect) struct Stepping {
        marking: Option<SteppedMarking>,
        /// It has taken its snapshot, and has not ended.
        under_way: bool,
    }

    impl Stepping {
        pub(in crate::collect) fn new() -> Self {
            Stepping { marking: None, under_way: false }
        }

        pub(in crate::collect) fn is_under_way(&self) -> bool {
            self.under_way
        }

        /// Whether a collection for this cause begins it, ends it, or comes between.
        pub(in crate::collect) fn is_concerned(&self, cause: Cause) -> bool {
            self.marking.is_some() || cause.is_stepped()
        }
    }

    impl Collector {
        /// Begins a marking in steps; false if one is under way, the kernel gives no memory for it, or threads are stopped by
        /// signals: between a barrier's test and its store the marking would lose what is overwritten.
        ///
        /// # Errors
        /// The mutator cannot be used now, or its thread's stack cannot be scanned.
        pub(crate) fn begin_stepped(&self, state: &State, me: &Mutator) -> Result<bool, MisuseError> {
            me.check()?;
            me.away(Rest::Parked, || {
                let mut work = self.work.lock();
                if work.stepping.is_under_way() || self.stops_by_signals() {
                    return false;
                }
                let Ok(marking) = work.marking.stepped(state) else { return false };
                work.stepping.marking = Some(marking);
                let Ok(()) = self.run_stopped(state, Cause::Stepped(Collection::Young), &mut work);
                true
            })
        }

        /// Marks on, by so many edges or pieces of objects, in a stop; whether something may be left.
        ///
        /// # Errors
        /// As [`Collector::begin_stepped`].
        pub(crate) fn step(&self, state: &State, me: &Mutator, edges: usize) -> Result<bool, MisuseError> {
            me.check()?;
            me.away(Rest::Parked, || {
                let mut work = self.work.lock();
                let Some(marking) = &mut work.stepping.marking else { return false };
                let _sweeping = self.sweeping.lock();
                let members = self.registry().lock();
                self.stop(&members);
                // SAFETY: all have stopped, and none attaches while the registry's lock is held; one thread collects.
                let world = unsafe { state.space().stopped() };
                let left = state.while_marking(|| marking.step(state, &world, state.faults(), edges));
                drop(world);
                members.resume();
                left
            })
        }

        /// Ends the marking that is under way; false if there is none.
        ///
        /// # Errors
        /// As [`Collector::begin_stepped`].
        pub(crate) fn finish_stepped(&self, state: &State, me: &Mutator) -> Result<bool, MisuseError> {
            me.check()?;
            me.away(Rest::Parked, || {
                let mut work = self.work.lock();
                let is_under_way = work.stepping.is_under_way();
                if is_under_way {
                    let Ok(()) = self.run_stopped(state, Cause::Stepped(Collection::Full), &mut work);
                }
                is_under_way
            })
        }

        /// What a collection marks that begins a marking in steps, ends it, or comes between; until a time if it may find what is
        /// young, else that is promoted.
        pub(in crate::collect) fn mark_stepped(
            &self,
            (state, world): (&State, &Stopped<'_>),
            (marking, Stepping { marking: stepped, under_way }): (&mut Marking, &mut Stepping),
            (locked, members): (&LockedRoots<'_>, &Members<'_, Mutator>),
            of: Collection,
            young: Option<u64>,
        ) -> Marked {
            let begins = !core::mem::replace(under_way, of == Collection::Young);
            let stepped_marking = stepped.as_mut().expect("a marking in steps begins, goes on, or ends");
            let faults = state.faults();
            let roots = |of: Collection, marker: &mut dyn ScanRoots| self.scan(locked, members, of, marker);
            let young_roots = |marker: &mut dyn ScanRoots| {
                roots(Collection::Young, marker);
                scan_remembered(state, marker);
            };
            let mut marked = match (young, begins) {
                (None, _) => Marked { late: true, ..Marked::default() },
                (Some(until), true) => marking.mark_young(state, world, until, young_roots),
                (Some(until), false) => marking.mark_young_beside(state, world, until, young_roots),
            };
            if marked.late {
                marked = marked.promoted(match begins || faults.fails(Fault::PromotedUnmarked) {
                    true => world.promote(members.owners()),
                    false => world.promote_marked(members.owners()),
                });
            }
            if begins {
                world.begin_marking();
                stepped_marking.begin(state, world, faults, |marker| roots(Collection::Full, marker));
                return marked;
            }
            stepped_marking.add(marked);
            if of == Collection::Full {
                marked = stepped_marking.finish(state, world, faults);
                world.note_large_survivors();
                state.marking_log().end(|object| world.forget_freed(object));
                *stepped = None;
            }
            marked
        }
    }
}
