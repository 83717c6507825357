//! The order of dying objects: one that another leads to waits for that. Each marking is counted in what it revives.
//!
//! 1. **On trial**: from one object after the other everything is followed that none before has reached, with marks on a side of
//!    their own. Where nothing had been, a *root* was found. No root leads to a later one.
//! 2. **In earnest**, from the last root to the first, the object itself unmarked: a root without a mark then is one that nothing
//!    else leads to, but for a circle that it is on (Kosaraju's two passes, of which only the sources are wanted here).
//! 3. Dying objects that are met are followed one by one, and know whose marking met them. If a root gets its mark so, that
//!    leads back to it, round a circle: its objects are ready together.
//! 4. What leads back may do so by way of what the root itself has followed. So where that leads to the root, and it has met others,
//!    these are followed once more, among what the trial has marked.
//!
//! An ephemeron counts as an edge to its value if its key is kept, in all passes alike; that is known when all that is revived is
//! marked. So where the trial has met one before its key, it marks on to that end, and roots are looked for anew among these marks.
//!
//! Each object is followed three times at most, and once more for that. Without memory for the trial each object counts as a root;
//! then an object that leads to itself may come before one that leads there.
//! Invariants: of the dying at least one is ready; an object that is ready, and on no circle, is one that no other dying one
//! leads to.

use super::entries::{Entries, FinalizerKind, NONE, Stage};
use super::index::Index;
use core::cell::Cell;

/// What a marker does with a dying object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowStep {
    /// Follows what it leads to: it has no mark.
    Root(usize),
    /// The same of one that has just been marked.
    Met(usize),
    /// It was followed, and has been marked since.
    Counted(usize),
}

/// What a marker does with an object that it has marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterMet {
    Scan,
    /// It is followed later.
    Leave,
    /// Its mark is taken back.
    Unmark,
}

/// The dying objects of a pause that wait for each other.
pub(crate) struct FinalizerOrder<'t> {
    entries: &'t Entries,
    index: &'t Index,
    /// The list of their entries.
    head: u32,
    /// That of dying objects without an order, which come back, too.
    at_once: u32,
    roots: Cell<u32>,
    /// Those that were met, and are not followed yet.
    work: Cell<u32>,
    /// The one whose marking is under way.
    current: Cell<u32>,
    /// The one with which it began.
    root: Cell<u32>,
    /// That has led to itself.
    in_self: Cell<bool>,
    /// Those that the current root has met.
    met_by_root: Cell<u32>,
    circles: Cell<u64>,
}

impl<'t> FinalizerOrder<'t> {
    /// Of a list of entries whose objects are dead, beside one of those that come at once.
    pub(super) fn new(entries: &'t Entries, index: &'t Index, (head, at_once): (u32, u32)) -> Self {
        FinalizerOrder {
            entries,
            index,
            head,
            at_once,
            roots: Cell::new(NONE),
            work: Cell::new(NONE),
            current: Cell::new(NONE),
            root: Cell::new(NONE),
            in_self: Cell::new(false),
            met_by_root: Cell::new(NONE),
            circles: Cell::new(0),
        }
    }

    /// Whether there is more than one object to order.
    pub(crate) fn is_of_several(&self) -> bool {
        let mut count = 0;
        self.for_each_object(|_, _| count += 1);
        count > 1
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Circles that were found.
    pub(crate) fn circles(&self) -> u64 {
        self.circles.get()
    }

    /// The entry that stands for all of an object's that wait.
    fn of(&self, object: usize) -> Option<u32> {
        self.index.find(self.entries, object, |number| {
            let entry = self.entries.get(number);
            entry.kind.get() == FinalizerKind::Ordered && entry.stage.get().is_dying()
        })
    }

    /// Calls `f` with each object and the entry that stands for it.
    fn for_each_object(&self, mut f: impl FnMut(u32, usize)) {
        self.entries.for_each(self.head, |number, entry| {
            let object = entry.object.get();
            if self.of(object) == Some(number) {
                f(number, object);
            }
        });
    }

    /// Calls `f` with each object that comes back and waits for none.
    pub(crate) fn for_each_at_once(&self, mut f: impl FnMut(usize)) {
        self.entries.for_each(self.at_once, |_, entry| f(entry.object.get()));
    }

    /// Finds roots, anew each time; `visit` follows all that an object leads to, unless it was visited, and says whether it was not.
    pub(crate) fn try_roots(&self, mut visit: impl FnMut(usize) -> bool) {
        self.roots.set(NONE);
        self.for_each_object(|number, object| {
            if visit(object) {
                self.entries.met(number).next_root.set(self.roots.replace(number));
            }
        });
    }

    /// Called for each object that gets its mark: what its marker is to do. Dying ones are followed later.
    pub(crate) fn met(&self, object: usize) -> AfterMet {
        let Some(number) = self.of(object) else { return AfterMet::Scan };
        let current = self.current.get();
        if number == current || current == NONE && number == self.root.get() {
            // It leads to itself: what counts is whether others do. Where a full stack hides who has led there, that is asked at the end.
            self.in_self.set(true);
            return AfterMet::Unmark;
        }
        let met = self.entries.met(number);
        met.by.set(current);
        met.next.set(self.work.replace(number));
        AfterMet::Leave
    }

    /// Begins or ends a part of a marking whose edges cannot be told from those of other objects.
    pub(crate) fn forget_current(&self) {
        self.current.set(NONE);
    }

    /// Follows what they lead to, by `follow`, and decides which are ready; [`FinalizerOrder::settle`] ends that.
    pub(crate) fn follow(&self, mut follow: impl FnMut(FollowStep), is_marked: impl Fn(usize) -> bool) {
        let (roots, get) = (self.roots.get(), |number| self.entries.get(number));
        let mut at = roots;
        while at != NONE {
            let (root, entry, object) = (at, get(at), get(at).object.get());
            at = self.entries.met(at).next_root.get();
            if is_marked(object) {
                continue;
            }
            self.current.set(root);
            self.root.set(root);
            self.in_self.set(false);
            self.met_by_root.set(NONE);
            entry.stage.set(Stage::Followed);
            follow(FollowStep::Root(object));
            self.follow_met(&mut follow);
            // Also where a full stack has hidden which of those that were met has led back.
            let in_self = self.in_self.get();
            match is_marked(object) {
                true => self.settle_circle(root, self.entries.met(root).by.get()),
                false if in_self && self.met_by_root.get() != NONE => {
                    entry.stage.set(Stage::ReadyUnlessBack);
                    self.entries.met(root).by.set(self.met_by_root.get());
                }
                false => entry.stage.set(Stage::Ready),
            }
        }
        // One that a later root has reached waits for that.
        let mut at = roots;
        while at != NONE {
            let is_ready = matches!(get(at).stage.get(), Stage::Ready | Stage::ReadyUnlessBack);
            if is_ready && is_marked(get(at).object.get()) {
                get(at).stage.set(Stage::Followed);
            }
            at = self.entries.met(at).next_root.get();
        }
    }

    /// Whether what leads back to an object is asked yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        let (mut at, mut is_asked) = (self.roots.get(), false);
        while at != NONE {
            is_asked |= self.entries.get(at).stage.get() == Stage::ReadyUnlessBack;
            at = self.entries.met(at).next_root.get();
        }
        is_asked
    }

    /// Ends what `follow` has begun: `leads_back` follows what an object leads to, unless it was visited, within what was marked on
    /// trial, and says whether the other is met.
    pub(crate) fn settle(&self, mut leads_back: impl FnMut(usize, usize) -> bool) {
        let object = |number| self.entries.get(number).object.get();
        let mut root = self.roots.get();
        while root != NONE {
            let (stage, met) = (&self.entries.get(root).stage, self.entries.met(root));
            if stage.get() == Stage::ReadyUnlessBack {
                let mut at = met.by.get();
                while at != NONE && !leads_back(object(at), object(root)) {
                    at = self.entries.met(at).next.get();
                }
                match at {
                    NONE => stage.set(Stage::Ready),
                    at => self.settle_circle(root, at),
                }
            }
            root = met.next_root.get();
        }
        self.share_stages();
    }

    fn follow_met(&self, follow: &mut impl FnMut(FollowStep)) {
        while self.work.get() != NONE {
            let number = self.work.get();
            let entry = self.entries.get(number);
            let met = self.entries.met(number);
            self.work.set(met.next.get());
            self.current.set(number);
            let object = entry.object.get();
            match entry.stage.replace(Stage::Followed) {
                Stage::Dying => {
                    met.next.set(self.met_by_root.replace(number));
                    follow(FollowStep::Met(object));
                }
                _ => follow(FollowStep::Counted(object)),
            }
        }
    }

    /// A root is on a circle: the last before it there is one that it has met, or itself where a full stack hides that.
    fn settle_circle(&self, root: u32, last: u32) {
        let mut at = last;
        while at != root && at != NONE {
            self.entries.get(at).stage.set(Stage::InCircle);
            at = self.entries.met(at).by.get();
        }
        self.entries.get(root).stage.set(Stage::InCircle);
        self.circles.set(self.circles.get() + 1);
    }

    /// Gives each entry the stage of that which stands for its object.
    fn share_stages(&self) {
        self.entries.for_each(self.head, |number, entry| {
            let first = self.of(entry.object.get()).unwrap_or(number);
            entry.stage.set(self.entries.get(first).stage.get());
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::entries::Entry;
    use super::*;
    use heapwood_os::SYSTEM;
    use std::collections::HashSet;

    /// Objects that refer to others, entries of some, and marks.
    struct Graph {
        edges: Vec<Vec<usize>>,
        entries: Entries,
        index: Index,
        head: u32,
        marked: Vec<Cell<bool>>,
        /// Before each so-manyth edge a full stack hides whose that is; 0 for never.
        hidden: usize,
        seen: Cell<usize>,
    }

    const fn address(object: usize) -> usize {
        16 * (1 + object)
    }

    impl Graph {
        fn new(edges: Vec<Vec<usize>>, dying: &[usize]) -> Self {
            let entries = Entries::new(&SYSTEM, 1 << 10).unwrap();
            let index = Index::new(&SYSTEM, 1 << 10).unwrap();
            let mut head = NONE;
            for &object in dying {
                entries.make_room().unwrap();
                index.make_room().unwrap();
                let number = entries.take();
                let entry: &Entry = entries.get(number);
                entry.object.set(address(object));
                entry.kind.set(FinalizerKind::Ordered);
                entry.stage.set(Stage::Dying);
                entry.next.set(head);
                index.add(&entries, number);
                head = number;
            }
            let marked = edges.iter().map(|_| Cell::new(false)).collect();
            Graph { edges, entries, index, head, marked, hidden: 0, seen: Cell::new(0) }
        }

        /// All that an object leads to by at least one edge.
        fn reach(&self, from: usize) -> HashSet<usize> {
            let (mut all, mut left) = (HashSet::new(), vec![from]);
            while let Some(at) = left.pop() {
                left.extend(self.edges[at].iter().filter(|&&to| all.insert(to)));
            }
            all
        }

        /// Follows what is unmarked and not held.
        fn mark(&self, from: usize, order: &FinalizerOrder<'_>) {
            let mut left = vec![from];
            while let Some(at) = left.pop() {
                for &to in &self.edges[at] {
                    self.seen.set(self.seen.get() + 1);
                    if self.hidden != 0 && self.seen.get().is_multiple_of(self.hidden) {
                        order.forget_current();
                    }
                    if !self.marked[to].replace(true) {
                        match order.met(address(to)) {
                            AfterMet::Scan => left.push(to),
                            AfterMet::Leave => {}
                            AfterMet::Unmark => self.marked[to].set(false),
                        }
                    }
                }
            }
        }

        /// The stages of the entries by object, and the circles.
        fn ordered(&self, has_trial: bool) -> (Vec<(usize, Stage)>, u64) {
            let order = FinalizerOrder::new(&self.entries, &self.index, (self.head, NONE));
            let object = |address: usize| address / 16 - 1;
            let mut tried = HashSet::new();
            order.try_roots(|root| {
                let root = object(root);
                let is_new = !has_trial || tried.insert(root);
                if has_trial && is_new {
                    tried.extend(self.reach(root));
                }
                is_new
            });
            let (mut followed, mut counted) = (HashSet::new(), HashSet::new());
            order.follow(
                |step| match step {
                    FollowStep::Root(at) | FollowStep::Met(at) => {
                        assert!(followed.insert(at), "{at:#x} is followed twice");
                        assert_eq!(self.marked[object(at)].get(), matches!(step, FollowStep::Met(_)));
                        self.mark(object(at), &order);
                    }
                    FollowStep::Counted(at) => assert!(followed.contains(&at) && counted.insert(at)),
                },
                |at| self.marked[object(at)].get(),
            );
            let mut again = HashSet::new();
            order.settle(|from, to| {
                let (mut left, mut found) = (vec![object(from)], false);
                while let Some(at) = left.pop() {
                    for &next in self.edges[at].iter().filter(|&next| has_trial && tried.contains(next)) {
                        found |= next == object(to);
                        if next != object(to) && again.insert(next) {
                            left.push(next);
                        }
                    }
                }
                found
            });
            let mut all = Vec::new();
            self.entries
                .for_each(self.head, |_, entry| all.push((object(entry.object.get()), entry.stage.get())));
            (all, order.circles())
        }
    }

    /// Random graphs: what is ready is compared with what each object leads to.
    #[test]
    fn exactly_those_that_no_other_leads_to_are_ready() {
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        let (mut circles, mut waiting) = (0, 0);
        for round in 0..20_000 {
            let n = 1 + random(12);
            let mut edges = vec![Vec::new(); n];
            for _ in 0..random(2 * n + 1) {
                edges[random(n)].push(random(n));
            }
            let dying: Vec<_> = (0..1 + random(n)).map(|_| random(n)).collect();
            let mut graph = Graph::new(edges, &dying);
            graph.hidden = if round % 3 == 0 { 1 + random(4) } else { 0 };
            let reach: Vec<_> = (0..n).map(|object| graph.reach(object)).collect();
            let has_trial = round % 4 != 0;
            let (stages, found) = graph.ordered(has_trial);
            circles += found;
            let is_ready = |stage| matches!(stage, Stage::Ready | Stage::InCircle);
            assert!(stages.iter().any(|&(_, stage)| is_ready(stage)), "none is ready");
            for &(object, stage) in &stages {
                let leads = |&&other: &&usize| other != object && reach[other].contains(&object);
                let others: HashSet<_> = dying.iter().filter(leads).collect();
                let back = others.iter().filter(|&&&other| reach[object].contains(&other)).count();
                let what = format!("{object} of {dying:?} in {:?}: {stage:?}", graph.edges);
                if others.is_empty() {
                    assert!(stage == Stage::Ready, "{what}");
                } else if has_trial {
                    // On a circle that nothing else leads to, or behind another.
                    assert!(!is_ready(stage) || stage == Stage::InCircle && back == others.len(), "{what}");
                    waiting += 1;
                } else {
                    assert!(!is_ready(stage) || back > 0 || reach[object].contains(&object), "{what}");
                }
            }
        }
        assert!(circles > 500 && waiting > 10_000, "{circles}, {waiting}");
    }

    #[test]
    fn a_ring_is_ready_as_a_whole() {
        for n in [2, 3, 100] {
            // Each leads to the next by way of an object without a finaliser.
            let edges = (0..2 * n).map(|i| vec![(i + 1) % (2 * n)]).collect();
            let dying: Vec<_> = (0..n).map(|i| 2 * i).collect();
            let (stages, circles) = Graph::new(edges, &dying).ordered(true);
            assert!(stages.iter().all(|&(_, stage)| stage == Stage::InCircle), "{stages:?}");
            assert_eq!((stages.len(), circles), (n, 1));
        }
    }
}
