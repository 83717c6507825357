//! Marking after the end of a marking: what finalisers revive. What ordered objects lead to is marked first, by one thread, and
//! they themselves are not: one that has no mark then waits for no other (libgc's rule). Those that come are marked like roots
//! afterwards, with the helpers of the marking.
//! Invariant: it marks on the side of the marking that has ended, and nothing outside that marking's scope.

use super::bits::{MarkBits, Plain};
use super::marking::{Marking, graph};
use super::mode::{Alone, Composed, Full, Mode, OwnEdges, Revival, Scope, Unlimited};
use super::queue::{Graph, MarkTotals, Marker};
use super::stack::MarkStacks;
use crate::pause::Pause;
use crate::roots::ScanRoots;
use heapwood_heap::{Collection, MarkSide};
use heapwood_os::Pagemap;

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
    /// Marks what dying ordered objects lead to; `each` names them to its argument. None is marked for its own pointers to itself.
    /// Returns also how many lead back to themselves by way of others.
    pub(crate) fn revive_below(
        &mut self,
        pause: &Pause<'_>,
        revived: Revived,
        each: impl FnOnce(&mut dyn FnMut(usize)),
    ) -> (MarkTotals, usize) {
        let (stacks, rescan) = self.parts();
        let graph = graph(rescan, pause, revived.kind());
        let also = revived.also(pause);
        let (marked, circles) = match revived == Revived::Snapshot {
            true => below::<true>((graph, pause, also), stacks, each),
            false => below::<false>((graph, pause, also), stacks, each),
        };
        // An ephemeron is an edge to its value if its key is reached by now, in whatever order both were met. Others may be reached
        // when the objects come back.
        let settled = self.settle_revived(pause, revived);
        pause.state().ephemerons().of(revived == Revived::Snapshot).look_again();
        (marked.plus(settled), circles)
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
        let (stacks, rescan) = self.parts();
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
                self.settle(pause, Revival::<false> { also, own: None }, Unlimited)
            }
            Revived::Snapshot => self.settle(pause, Revival::<true> { also, own: None }, Unlimited),
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
    let scope = Revival::<SNAPSHOT> { also, own: None };
    let mut marker = Marker::new(graph, stacks, &pagemap, mode(pause, scope));
    begin(&mut marker);
    marker.drain()
}

fn below<const SNAPSHOT: bool>(
    (graph, pause, also): Parts<'_, '_>,
    stacks: &mut MarkStacks,
    each: impl FnOnce(&mut dyn FnMut(usize)),
) -> (MarkTotals, usize) {
    let (pagemap, own, mut circles) = (Pagemap::new(), OwnEdges::default(), 0);
    let scope = Revival::<SNAPSHOT> { also, own: Some(&own) };
    let mut marker = Marker::new(graph, stacks, &pagemap, mode(pause, scope));
    each(&mut |object| {
        // SAFETY: dying objects are the heap's, whose bits are committed; one thread marks.
        if unsafe { Plain::is_set(graph.marks, object) } {
            return;
        }
        own.begin(object, false);
        marker.follow_below(object);
        let met = own.met();
        if met != 0 {
            own.begin(object, true);
            marker.follow_below(object);
            let is_led_back = own.met() < met;
            own.end();
            if is_led_back {
                marker.push(object);
                marker.drain();
                circles += 1;
            }
        }
    });
    (marker.totals(), circles)
}

impl<M: Mode> Marker<'_, M> {
    /// Follows what an object without a mark leads to. The stacks are empty, so none of its own edges waits for its mark.
    fn follow_below(&mut self, object: usize) {
        self.scan(object, self.entry(object));
        self.drain();
    }
}
