//! Marking after the end of a marking: what finalisers revive. Objects that wait for each other are followed one by one, by one
//! thread, on trial and then in earnest (`state/finalizers/order.rs` has the algorithm); all others like roots, with the
//! helpers of the marking. A trial has its marks on a side of its own, whose memory is given back at once, and lists of ephemerons of
//! its own, which are forgotten before the marking itself lists any of them.
//! Invariant: it marks on the side of the marking that has ended, and nothing outside that marking's scope.

use super::bits::{MarkBits, Plain};
use super::ephemerons::Pending;
use super::marking::{Marking, graph};
use super::mode::{Alone, Composed, Full, Mode, NextWork, OnTrial, Revival, Scope, Unlimited};
use super::queue::{Graph, MarkTotals, Marker};
use super::stack::MarkStacks;
use crate::pause::Pause;
use crate::roots::ScanRoots;
use crate::state::{AfterMet, FinalizerOrder, FollowStep};
use core::cell::Cell;
use core::sync::atomic::Ordering;
use heapwood_heap::{Collection, MarkSide, Space};
use heapwood_os::{KernelRef, MappedArray, Pagemap};

/// The marking that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revived {
    /// Of everything, in a stop.
    Full,
    /// Of young objects.
    Young,
    /// The same during a concurrent marking: each survivor is marked for both.
    YoungInSnapshot,
    /// A concurrent one.
    Snapshot,
}

impl Revived {
    fn kind(self) -> Collection {
        match self {
            Revived::Full | Revived::Snapshot => Collection::Full,
            Revived::Young | Revived::YoungInSnapshot => Collection::Young,
        }
    }

    /// The other side that takes marks.
    fn also(self, pause: &Pause<'_>) -> Option<MarkSide> {
        (self == Revived::YoungInSnapshot).then(|| pause.world().mark_side(Collection::Full))
    }
}

impl Marking {
    /// Marks what dying objects lead to, one after the other, and those that are reached; finds out which others wait for.
    pub(crate) fn revive_in_order(
        &mut self,
        pause: &Pause<'_>,
        revived: Revived,
        order: &FinalizerOrder<'_>,
    ) -> MarkTotals {
        let (kernel, stacks, rescan) = self.parts();
        let graph = graph(rescan, pause, revived.kind());
        let also = revived.also(pause);
        match revived == Revived::Snapshot {
            true => in_order::<true>(kernel, (graph, pause, also), stacks, order),
            false => in_order::<false>(kernel, (graph, pause, also), stacks, order),
        }
    }

    /// Marks what `begin` names, and all that it leads to.
    pub(crate) fn revive(
        &mut self,
        pause: &Pause<'_>,
        revived: Revived,
        begin: impl FnOnce(&mut dyn ScanRoots),
    ) -> MarkTotals {
        if revived == Revived::Full {
            return self.mark_from(pause, begin).0;
        }
        let (_, stacks, rescan) = self.parts();
        let graph = graph(rescan, pause, revived.kind());
        let also = revived.also(pause);
        match revived == Revived::Snapshot {
            true => all::<true>((graph, pause, also), stacks, begin),
            false => all::<false>((graph, pause, also), stacks, begin),
        }
    }

    /// Follows what ephemerons hold whose keys were revived, or that were revived themselves.
    pub(crate) fn settle_revived(&mut self, pause: &Pause<'_>, revived: Revived) -> MarkTotals {
        let also = revived.also(pause);
        match revived {
            Revived::Full => self.settle(pause, Full, Unlimited),
            Revived::Young | Revived::YoungInSnapshot => {
                self.settle(pause, Revival::<false> { also, met: None, kept: None }, Unlimited)
            }
            Revived::Snapshot => {
                self.settle(pause, Revival::<true> { also, met: None, kept: None }, Unlimited)
            }
        }
    }
}

type Parts<'h, 'p> = (Graph<'h>, &'h Pause<'p>, Option<MarkSide>);

fn mode<'h, S: Scope>(pause: &'h Pause<'_>, scope: S) -> Composed<Alone<'h>, S, Unlimited> {
    Composed { team: Alone::new(pause.world()), scope, limit: Unlimited }
}

fn all<const SNAPSHOT: bool>(
    (graph, pause, also): Parts<'_, '_>,
    stacks: &mut MarkStacks,
    begin: impl FnOnce(&mut dyn ScanRoots),
) -> MarkTotals {
    let pagemap = Pagemap::new();
    let scope = Revival::<SNAPSHOT> { also, met: None, kept: None };
    let mut marker = Marker::new(graph, stacks, &pagemap, mode(pause, scope));
    begin(&mut marker);
    marker.drain()
}

fn in_order<const SNAPSHOT: bool>(
    kernel: KernelRef,
    (graph, pause, also): Parts<'_, '_>,
    stacks: &mut MarkStacks,
    order: &FinalizerOrder<'_>,
) -> MarkTotals {
    let pagemap = Pagemap::new();
    let trial = order.is_of_several().then(|| Trial::begin(kernel, pause.space())).flatten();
    match &trial {
        None => order.try_roots(|_| true),
        Some(trial) => on_trial::<SNAPSHOT>(kernel, (graph, pause, trial.side), stacks, order),
    }
    let kept = trial.as_ref().map(|trial| trial.side);
    let marked = in_earnest::<SNAPSHOT>((graph, pause, also), kept, stacks, order);
    let again =
        trial.as_ref().filter(|_| order.is_unsettled()).and_then(|_| Trial::begin(kernel, pause.space()));
    match (&trial, &again) {
        (Some(trial), Some(again)) => {
            let (sought, found) = (Cell::new(0), Cell::new(false));
            let met = |object| {
                found.set(found.get() || object == sought.get());
                object != sought.get()
            };
            let scope = OnTrial::<SNAPSHOT> { marked: graph.marks, kept: Some(trial.side), met: Some(&met) };
            let graph = Graph { marks: again.side, ..graph };
            let mut marker = Marker::new(graph, stacks, &pagemap, mode(pause, scope));
            order.settle(|from, to| {
                sought.set(to);
                found.set(false);
                marker.try_object(from);
                found.get()
            });
        }
        _ => order.settle(|_, _| false),
    }
    marked
}

/// Finds the roots, and marks on `side` what is revived: what dying objects of an order lead to, and all the others where that depends
/// on an ephemeron whose key was not met before it. An ephemeron leads to its value if its key is kept. What is kept is known
/// when all is marked, so then roots are looked for a second time.
fn on_trial<const SNAPSHOT: bool>(
    kernel: KernelRef,
    (graph, pause, side): (Graph<'_>, &Pause<'_>, MarkSide),
    stacks: &mut MarkStacks,
    order: &FinalizerOrder<'_>,
) {
    let (pagemap, ephemerons) = (Pagemap::new(), pause.state().ephemerons());
    let scope = OnTrial::<SNAPSHOT> { marked: graph.marks, kept: None, met: None };
    let on = |side| Graph { marks: side, ..graph };
    ephemerons.begin_trial();
    let mut marker = Marker::new(on(side), stacks, &pagemap, mode(pause, scope));
    order.try_roots(|object| marker.try_object(object));
    drop(marker);
    if ephemerons.on_trial().are_undecided() && ephemerons.begin_fixed_point_of_trial().is_ok() {
        let mut marker =
            Marker::new(on(side), stacks, &pagemap, mode(pause, Pending::new(scope, ephemerons)));
        order.for_each_at_once(|object| _ = marker.try_object(object));
        marker.settle(ephemerons);
        drop(marker);
        if let Some(second) = Trial::begin(kernel, pause.space()) {
            let scope = OnTrial::<SNAPSHOT> { kept: Some(side), ..scope };
            let mut marker = Marker::new(on(second.side), stacks, &pagemap, mode(pause, scope));
            order.try_roots(|object| marker.try_object(object));
        }
    }
    ephemerons.end_trial();
}

fn in_earnest<const SNAPSHOT: bool>(
    (graph, pause, also): Parts<'_, '_>,
    kept: Option<MarkSide>,
    stacks: &mut MarkStacks,
    order: &FinalizerOrder<'_>,
) -> MarkTotals {
    let (pagemap, marks) = (Pagemap::new(), graph.marks);
    let met = |object| {
        let after = order.met(object);
        if after == AfterMet::Unmark {
            let (word, bit) = marks.word(object);
            // SAFETY: it was marked just now, so its bits are committed.
            unsafe { &*word }.fetch_and(!bit, Ordering::Relaxed);
        }
        after == AfterMet::Scan
    };
    let scope = Revival::<SNAPSHOT> { also, met: Some(&met), kept };
    let mut marker = Marker::new(graph, stacks, &pagemap, mode(pause, scope));
    // SAFETY: dying objects are the heap's, whose bits are committed; one thread marks.
    let is_marked = |object| unsafe { Plain::is_set(marks, object) };
    order.follow(|step| marker.follow_dying(step, order), is_marked);
    marker.totals()
}

impl<M: Mode> Marker<'_, M> {
    /// Follows what an object leads to, unless it is marked; whether it was not.
    fn try_object(&mut self, object: usize) -> bool {
        // SAFETY: it is a dead object, which exists; one thread marks.
        let is_new = unsafe { M::Bits::set_at_once(self.marks, object) };
        if is_new {
            self.scan(object, self.entry(object));
            self.drain();
        }
        is_new
    }

    fn follow_dying(&mut self, step: FollowStep, order: &FinalizerOrder<'_>) {
        match step {
            FollowStep::Root(object) => self.scan(object, self.entry(object)),
            FollowStep::Met(object) => self.visit_marked(object, self.entry(object)),
            FollowStep::Counted(object) => return self.count(object, self.shape(self.entry(object))),
        }
        loop {
            self.follow_all();
            match self.next_work() {
                NextWork::Edges => {}
                NextWork::Rescan => {
                    // Where a stack was full, objects of a whole span are scanned again.
                    order.forget_current();
                    self.rescan_overflowed();
                }
                NextWork::None => return,
            }
        }
    }
}

/// Marks on trial: all clear at first, and given back at the end.
struct Trial {
    _words: MappedArray<u64>,
    side: MarkSide,
}

impl Trial {
    /// For the objects of a heap, if the kernel gives memory.
    fn begin(kernel: KernelRef, space: &Space) -> Option<Self> {
        let committed = space.committed_end().div_ceil(MarkSide::WORD_SPAN);
        let words = MappedArray::new(kernel, committed).ok()?;
        words.commit(0..committed).ok()?;
        let side = MarkSide::beside(words.as_ptr(), space.base().get());
        Some(Trial { _words: words, side })
    }
}
