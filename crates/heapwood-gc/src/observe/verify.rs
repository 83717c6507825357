//! Verify mode: all checks, at collections that the program asks for, and at others as long as they take no more time than all else that
//! the process does; of a small heap at each. Invariant: it shares with the marker only the walk over roots, and
//! changes nothing of the heap but what a sweep would change.
//!
//! Before marking:
//! - It compares pointer slots of objects that were old at the last check, and have not died since, with a copy made then. A slot that
//!   changed without a noted store bypassed the barrier. An object is new until its thread's next poll or allocation; at a
//!   collection no object is new.
//! - Every slot, of roots and of objects, must hold the address of an object that exists: marking would revive a freed
//!   one. If the program frees objects itself, it checks only objects that precise roots reach (`walk`),
//!   because others may be dead. The same holds for references into an arena that was closed with the promise that
//!   there are none; into other closed arenas anything may refer.
//!
//! After marking:
//! - The space's walker runs.
//! - A second, simple pass checks that marking missed nothing: every edge from a root or a marked object leads to a
//!   marked object. A closed set that contains the roots contains everything reachable. After a young collection old
//!   objects count as marked. A missed edge from one is a store that was not remembered; the noted stores show whether
//!   the barrier saw it.
//! - After a young collection a dead object may have its bit, so if the program frees objects only the walk is trusted.
//!   After a full collection that holds for edges to first bytes of pages, where large objects may have been.
//! - Of objects whose finalisers are queued no precise path may lead to any, and the finalisers' table agrees with itself.
//! - Beside a concurrent marking there is a second, independent one (`second_marking`).
//! - Words that no layout names are looked at where layouts were written by hand (`unnamed_words`).
//! - A chunk that an arena released during a concurrent marking belongs to no arena, and references to it are allowed.

use super::second_marking::{Floating, SecondMarking};
use super::slots::{for_each_edge, for_each_slot_of, shape_in};
use super::unnamed_words::UnnamedWords;
use super::walk::for_each_root;
use super::walk::{ObjectSet, Walk, no_memory};
use crate::arenas::log::ArenaLog;
use crate::pause::Pause;
use crate::roots::Source;
use crate::state::{FreedBy, Reports, State, TypeName, TypeNames};
use crate::weak::verify::{check_ephemerons, count_keys};
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_heap::{Address, Collection, MarkedArenaChunk, ObjectRef, ScanKind, Space};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::process::clock::{process_cpu_ns, thread_cpu_ns};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError, for_each_mapping_of};
use heapwood_pages::PAGE_SIZE;

/// A heap with less alive than this is checked at each collection.
const SMALL: usize = 1 << 20;

/// So many entries on finaliser queues, of which none was taken until as many collections have found that, are said.
const MANY_QUEUED: usize = 10_000;
const LOOKS_AT_QUEUES: u64 = 16;

/// The copy of the heap at the last check.
pub(crate) struct Verify {
    copy: MappedArray<usize>,
    /// The objects of the copy that have not died since.
    copied: ObjectSet,
    /// The last collection was a check.
    was_checked: AtomicBool,
    /// CPU time of the process when the heap began, and that of checks since.
    began: u64,
    spent: AtomicU64,
    /// The concurrent marking under way is checked.
    checks_marking: AtomicBool,
    walk: Walk,
    /// What precise roots reach, during a walk.
    reached: ObjectSet,
    second: SecondMarking,
    unnamed: UnnamedWords,
    /// Bytes of the heap with room in the copy.
    committed: AtomicUsize,
    violations: AtomicU64,
    /// Collections that found many entries on the finaliser queues, from which none was ever taken.
    looked_at_queues: AtomicU64,
    arenas: ArenaLog,
}

impl Verify {
    pub(crate) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        Ok(Verify {
            copy: MappedArray::new(kernel, space.reservation_bytes() / WORD)?,
            copied: ObjectSet::new(kernel, space)?,
            was_checked: AtomicBool::new(false),
            began: process_cpu_ns(),
            spent: AtomicU64::new(0),
            checks_marking: AtomicBool::new(false),
            walk: Walk::new(kernel, space)?,
            reached: ObjectSet::new(kernel, space)?,
            second: SecondMarking::new(kernel, space)?,
            unnamed: UnnamedWords::new(),
            committed: AtomicUsize::new(0),
            violations: AtomicU64::new(0),
            looked_at_queues: AtomicU64::new(0),
            arenas: ArenaLog::new(kernel)?,
        })
    }

    /// The arena log.
    pub(crate) fn arenas(&self) -> &ArenaLog {
        &self.arenas
    }

    /// Stores that bypassed the barrier so far.
    pub(crate) fn violations(&self) -> u64 {
        self.violations.load(Ordering::Relaxed)
    }

    /// Whether the next collection is checked.
    pub(crate) fn is_due(&self, state: &State, is_asked: bool) -> bool {
        let cycles = state.cycles();
        let always =
            is_asked && state.stress().is_none() || cycles.is_paced_by_bytes() || cycles.live() < SMALL;
        let spent = self.spent.load(Ordering::Relaxed);
        always || spent <= process_cpu_ns().saturating_sub(self.began + spent)
    }

    /// Counts the time of a part of a check.
    fn timed<R>(&self, check: impl FnOnce() -> R) -> R {
        let began = thread_cpu_ns();
        let result = check();
        self.spent.fetch_add(thread_cpu_ns() - began, Ordering::Relaxed);
        result
    }

    /// The object at an address has died, or was freed: its memory may be another's at the next check.
    pub(crate) fn forget(&self, object: usize) {
        self.copied.remove(object);
    }

    /// A collection was not checked.
    pub(crate) fn leave_unchecked(&self, pause: &Pause<'_>) {
        self.was_checked.store(false, Ordering::Relaxed);
        count_keys(pause);
    }

    /// Says once that nobody takes what is on finaliser queues, after some collections: `queued` entries are there, of `ever` that were.
    pub(crate) fn look_at_queues(&self, reports: &Reports, queued: usize, ever: u64) {
        // Whoever takes them may be late, but not in so many collections.
        let is_left = queued >= MANY_QUEUED && ever == queued as u64;
        if is_left && self.looked_at_queues.fetch_add(1, Ordering::Relaxed) + 1 == LOOKS_AT_QUEUES {
            reports.tell(format_args!(
                "{queued} entries wait on finaliser queues, and none was ever taken: their objects stay until somebody \
                 takes them"
            ));
        }
    }

    /// Makes room for the heap as it is now; one thread collects.
    fn commit(&self, space: &Space) {
        let committed_end = space.committed_end();
        let committed = self.committed.swap(committed_end, Ordering::Relaxed);
        if let Err(e) = self.copy.commit(committed / WORD..committed_end / WORD) {
            no_memory(e);
        }
    }

    /// Finds slots with invalid values, and slots that changed without the barrier. The heap is stopped, flushed and
    /// swept.
    pub(crate) fn before_marking(&self, pause: &Pause<'_>) {
        self.timed(|| self.look_before_marking(pause));
    }

    fn look_before_marking(&self, pause: &Pause<'_>) {
        let (state, space, world) = (pause.state(), pause.space(), pause.world());
        let stores = state.stores();
        self.commit(space);
        stores.inspect(|stores| stores.begin_checks(space));
        for_each_root(pause, |what, at, value| {
            if let Some(wrong) = Wrong::about(state, value) {
                corrupt(format_args!("{what} at {at:#x} holds {value:#x}, {wrong}"));
            }
        });
        let (frees, promised) = (space.has_explicit_frees(), space.arenas().were_promised());
        let was_checked = self.was_checked.load(Ordering::Relaxed);
        world.for_each_object_in_spans(|object, span, is_old| {
            let (object, bytes) = (object.get(), span.object_bytes());
            let shape = shape_in(space, span, object);
            let is_arena = shape.kind() == ScanKind::Arena;
            // Of an arena chunk, the copy has the part that existed at the last collection.
            let chunk = if is_arena { space.arenas().find_chunk(Address::new(object)) } else { None };
            let seen = chunk.map_or(usize::MAX, MarkedArenaChunk::seen);
            let is_old = is_old && if is_arena { was_checked } else { self.copied.has(object) };
            for_each_slot_of(space, shape, object, bytes, |slot| {
                let is_old = is_old && slot < seen;
                let index = (slot - space.base().get()) / WORD;
                // SAFETY: the slot lies in an object of a stopped heap.
                let now = unsafe { (slot as *const usize).read() };
                let word = (slot - object) / WORD;
                // A dead object that was not collected yet may refer to a cell that the program freed and another
                // object now has.
                let is_right = || now == 0 || world.has_old_object(Address::new(now));
                if !(frees || is_right() || promised && Wrong::is_in_arena(state, now)) {
                    check_slot(state, slot, (object, bytes), now);
                }
                // SAFETY: the copy is committed up to the committed end.
                let then = if is_old { unsafe { self.copy.at(index).read() } } else { now };
                // A slot that led nowhere before and now hides nothing, and collections scan root words no matter which
                // thread writes them.
                let matters =
                    now != then && [now, then].map(Address::new).iter().any(|&at| space.contains(at));
                let is_told = || stores.is_none_or(|stores| stores.has(index));
                if matters && !is_told() && !is_root_word(pause, slot) {
                    self.violations.fetch_add(1, Ordering::Relaxed);
                    state.reports().tell(format_args!(
                        "word {word} of the object at {object:#x} ({}{bytes} bytes) changed from \
                         {then:#x} to {now:#x} without the write barrier",
                        state.type_name(span, object)
                    ));
                }
            });
        });
        if frees || promised {
            let from_roots = |reach: &mut dyn FnMut(usize)| {
                for_each_root(pause, |_, _, value| reach(value));
            };
            let walked = self.walk.run((space, &self.reached), from_roots, |slot, object, value| {
                check_slot(state, slot, object, value);
            });
            walked.unwrap_or_else(|e| no_memory(e));
        }
    }

    /// Finds all that precise roots reach, in a pause: nothing of it is dead. The calling thread is registered as one that marks.
    pub(crate) fn reach(&self, pause: &Pause<'_>) {
        let space = pause.space();
        let mut walking = self.walk.begin(space, &self.reached).unwrap_or_else(|e| no_memory(e));
        for_each_root(pause, |_, _, value| walking.reach(value));
        while let Some(object) = walking.next() {
            for_each_edge(space, object, false, |edge| {
                if !space.is_freed(ObjectRef::new(edge.target())) {
                    walking.reach(edge.target());
                }
            });
        }
        walking.end().unwrap_or_else(|e| no_memory(e));
    }

    /// Ends the process if that has reached an object which is taken for dead.
    pub(crate) fn check_dead(&self, object: usize) {
        if self.reached.has(object) {
            corrupt(format_args!(
                "the object at {object:#x} was taken for dead, and its finaliser queued, though precise roots lead to it"
            ));
        }
    }

    /// Forgets what was reached.
    pub(crate) fn forget_reached(&self) {
        self.reached.clear().unwrap_or_else(|e| no_memory(e));
    }

    /// In the pause that starts a concurrent marking, after the marker has its roots. The calling thread is registered as one
    /// that marks.
    pub(crate) fn begin_concurrent(&self, pause: &Pause<'_>) {
        self.checks_marking.store(true, Ordering::Relaxed);
        self.timed(|| self.second.begin(pause, &self.walk));
    }

    /// In the pause that ends one, when all is marked; the same. What nothing led to any more; `None` if its start was not checked.
    pub(crate) fn end_concurrent(&self, pause: &Pause<'_>) -> Option<Floating> {
        let is_checked = self.checks_marking.swap(false, Ordering::Relaxed);
        is_checked.then(|| self.timed(|| self.second.end(pause, &self.walk)))
    }

    /// Checks the result of a marking, and copies the survivors. The heap is stopped, and the next cycle has begun.
    /// Unless the marking was `exact`, some survivors may be dead.
    pub(crate) fn after_marking(&self, pause: &Pause<'_>, kind: Collection, exact: bool) {
        self.timed(|| self.look_after_marking(pause, kind, exact));
        self.was_checked.store(true, Ordering::Relaxed);
    }

    fn look_after_marking(&self, pause: &Pause<'_>, kind: Collection, exact: bool) {
        let (space, world, stores) = (pause.space(), pause.world(), pause.state().stores());
        let is_missed = |addr: usize| {
            if addr == 0 || world.has_old_object(Address::new(addr)) {
                return false;
            }
            let marked_as = space
                .contains(Address::new(addr))
                .then(|| space.arenas().marked_as(Address::new(addr)))
                .flatten();
            let is_abandoned =
                || space.arenas().find_chunk(Address::new(addr)).is_some_and(MarkedArenaChunk::is_abandoned);
            // A dead object that is kept has its bit.
            let is_dead = |object: Address| {
                let by =
                    || pause.state().quarantine().and_then(|quarantine| quarantine.freed_by(space, object));
                !world.is_allocated(ObjectRef::new(object.get()))
                    || matches!(by(), Some(FreedBy::Collection(_)))
            };
            marked_as.is_some_and(is_dead) && !is_abandoned()
        };
        for_each_root(pause, |from, at, addr| {
            if is_missed(addr) {
                corrupt(format_args!("{from} at {at:#x} refers to {addr:#x}, which was not marked"));
            }
        });
        let check = |slot: usize, (object, bytes): (usize, usize), value: usize| {
            if is_missed(value) {
                let (word, index) = ((slot - object) / WORD, (slot - space.base().get()) / WORD);
                let why = Unmarked { kind, noted: stores.is_some_and(|stores| stores.has(index)) };
                let name = name_of(pause.state(), object);
                corrupt(format_args!(
                    "word {word} of the object at {object:#x} ({name}{bytes} bytes) refers to {value:#x}, which was not marked{why}"
                ));
            }
        };
        // A dead object may refer to one that the program freed.
        let frees = space.has_explicit_frees();
        if !frees {
            check_ephemerons(pause, is_missed);
        }
        if frees {
            let from_roots = |reach: &mut dyn FnMut(usize)| {
                for_each_root(pause, |_, _, value| reach(value));
            };
            self.walk.run((space, &self.reached), from_roots, check).unwrap_or_else(|e| no_memory(e));
        }
        self.copied.clear().and_then(|()| self.copied.commit(space)).unwrap_or_else(|e| no_memory(e));
        let is_by_hand = pause.state().type_names().is_some_and(TypeNames::are_by_hand);
        world.for_each_old_object(|object, span| {
            let (object, bytes) = (object.get(), span.object_bytes());
            let shape = shape_in(space, span, object);
            self.copied.insert(object);
            if is_by_hand {
                self.unnamed.look(pause.state(), (span, shape), object);
            }
            if exact || !frees {
                for_each_slot_of(space, shape, object, bytes, |slot| {
                    // SAFETY: the slot lies in an object of a stopped heap.
                    let value = unsafe { (slot as *const usize).read() };
                    // An object that a stray word keeps may refer to the place of a large object that the program
                    // freed.
                    if !(frees && value.is_multiple_of(PAGE_SIZE)) {
                        check(slot, (object, bytes), value);
                    }
                });
            }
            // SAFETY: the copy is committed up to the committed end; the object is not written while stopped.
            unsafe {
                let copy = self.copy.at((object - space.base().get()) / WORD);
                copy.copy_from_nonoverlapping(object as *const usize, bytes / WORD);
            }
        });
        stores.inspect(|stores| stores.clear(space));
        count_keys(pause);
        world.finish_sweep();
        if let Err(invalid) = world.is_valid(pause.owners()) {
            corrupt(format_args!("{invalid}"));
        }
    }
}

/// What is known of the type of the object at an address.
fn name_of(state: &State, object: usize) -> TypeName {
    let span = state.space().find_span(Address::new(object));
    span.map_or(TypeName::default(), |span| state.type_name(span, object))
}

/// Ends the process if a slot of an object (its address and bytes) holds an invalid value.
fn check_slot(state: &State, slot: usize, (object, bytes): (usize, usize), value: usize) {
    if let Some(wrong) = Wrong::about(state, value) {
        let word = (slot - object) / WORD;
        let name = name_of(state, object);
        corrupt(format_args!(
            "word {word} of the object at {object:#x} ({name}{bytes} bytes) holds {value:#x}, {wrong}"
        ));
    }
}

/// Why a slot of a live object may refer to an object that was not marked.
struct Unmarked {
    kind: Collection,
    /// A store there went through the barrier since the last collection.
    noted: bool,
}

impl fmt::Display for Unmarked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.noted) {
            (Collection::Full, _) => Ok(()),
            (Collection::Young, true) => write!(
                f,
                " by a young collection: the write barrier saw a store there, which was not remembered or not followed"
            ),
            (Collection::Young, false) => write!(
                f,
                " by a young collection: the write barrier saw no store there since the last one; store pointers \
                 into objects through it"
            ),
        }
    }
}

/// What is wrong with the value of a pointer slot.
enum Wrong {
    NoSpan,
    Freed { by: FreedBy, name: TypeName, bytes: usize },
    Free,
    Inside { object: usize, bytes: usize },
    InArena { number: u64 },
}

impl Wrong {
    fn is_in_arena(state: &State, value: usize) -> bool {
        matches!(Wrong::about(state, value), Some(Wrong::InArena { .. }))
    }

    /// `None` if the value is null, lies outside the heap, or is an object's address. The heap is stopped and flushed.
    fn about(state: &State, value: usize) -> Option<Wrong> {
        let (space, value) = (state.space(), Address::new(value));
        if !space.contains(value) {
            return None;
        }
        if let Some(place) = space.arenas().find(value) {
            return place.is_promised.then_some(Wrong::InArena { number: place.arena });
        }
        match space.find(value) {
            Some(object) if Address::from(object.base) == value => None,
            Some(object) => Some(Wrong::Inside { object: object.base.get(), bytes: object.bytes }),
            None => {
                let by = state.quarantine().and_then(|quarantine| quarantine.freed_by(space, value));
                Some(match (by, space.find_span(value)) {
                    (Some(by), Some(span)) => {
                        let name = state.type_name(span, value.get());
                        Wrong::Freed { by, name, bytes: span.object_bytes() }
                    }
                    (_, Some(_)) => Wrong::Free,
                    (_, None) => Wrong::NoSpan,
                })
            }
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KEPT: &str = "was it kept past the object's life, where no collection looks?";
        match self {
            Wrong::NoSpan => write!(f, "which is inside the heap but no object: {KEPT}"),
            Wrong::Freed { by: FreedBy::Program, name, bytes } => write!(
                f,
                "which the program has freed ({name}{bytes} bytes): clear all references to an object before it is freed"
            ),
            Wrong::Freed { by: FreedBy::Collection(number), name, bytes } => {
                write!(f, "where the object was freed by collection {number} ({name}{bytes} bytes): {KEPT}")
            }
            Wrong::InArena { number } => write!(
                f,
                "where arena {number} was, which has been closed or emptied with the promise that nothing refers to it: clear references before"
            ),
            Wrong::Free => write!(f, "where the object was freed: {KEPT}"),
            Wrong::Inside { object, bytes } => write!(
                f,
                "which points into the object at {object:#x} ({bytes} bytes): a pointer slot holds an object's first byte"
            ),
        }
    }
}

/// Whether every collection scans this word: one of a registered slot or range, or of a linked frame.
fn is_root_word(pause: &Pause<'_>, word: usize) -> bool {
    let mut found = false;
    pause.for_each_root_but_stacks(|source, words| {
        found |= matches!(source, Source::Slots | Source::Range | Source::Frame) && words.contains(&word);
    });
    found
}

impl Mapped for Verify {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(
            &[&self.copy, &self.copied, &self.walk, &self.reached, &self.second, &self.arenas],
            f,
        );
    }
}
