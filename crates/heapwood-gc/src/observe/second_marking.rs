//! A second marking of verify mode, for each beside the program whose start is a check: a slow walk of the stopped heap when the
//! first begins, and another when it has marked all it will.
//!
//! - At the start: which objects paths of precise edges reach from any root. A concurrent marking promises them all,
//!   whatever the program does to the paths afterwards, but for those that the program frees. Ambiguous words inside objects
//!   are left out: one that is no pointer may be overwritten without the barrier.
//! - At the end: what precise roots reach must be marked; each edge of such an object leads to a marked one.
//! - Then also from words that may be pointers, stale ones among them: what they reach need not be marked, but if it is, it is
//!   no floating garbage.
//! - What is marked and nothing reaches is floating garbage, which is counted. Memory of arenas is not: no collection frees it.
//!
//! Invariant: it shares with the marker only the walk over roots, and changes nothing of the heap.

use super::slots::{Edge, for_each_edge};
use super::walk::{ObjectSet, Walk, Walking, no_memory};
use super::walk::{for_each_ambiguous_root, for_each_root};
use crate::pause::Pause;
use core::ops::Range;
use heapwood_heap::{Address, MarkedArenaChunk, ObjectRef, ScanKind, Space};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::{KernelRef, Mapped, OsError, for_each_mapping_of};

/// What a concurrent marking has kept though nothing led to it any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Floating {
    pub(crate) objects: usize,
    pub(crate) bytes: usize,
}

/// The second marking of one heap.
pub(super) struct SecondMarking {
    /// What could be reached when the concurrent marking began.
    at_start: ObjectSet,
    /// What can be reached when it ends.
    at_end: ObjectSet,
}

impl SecondMarking {
    pub(super) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        Ok(SecondMarking { at_start: ObjectSet::new(kernel, space)?, at_end: ObjectSet::new(kernel, space)? })
    }

    /// In the pause that starts a concurrent marking, when every object has its allocation bit and the marker its roots.
    pub(super) fn begin(&self, pause: &Pause<'_>, walk: &Walk) {
        let (space, world) = (pause.space(), pause.world());
        // What a stray word keeps may refer to what the program has freed.
        let exists = |address: usize| {
            let object = space.arenas().marked_as(Address::new(address)).map(|at| ObjectRef::new(at.get()));
            object.is_some_and(|object| world.is_allocated(object) && !space.is_freed(object))
        };
        self.at_start.clear().unwrap_or_else(|e| no_memory(e));
        let mut walking = walk.begin(space, &self.at_start).unwrap_or_else(|e| no_memory(e));
        for_each_root(pause, |_, _, value| reach_if(exists, &mut walking, value));
        for_each_ambiguous_root(pause, |object| reach_if(exists, &mut walking, object));
        while let Some(object) = walking.next() {
            for_each_edge(space, object, false, |edge| reach_if(exists, &mut walking, edge.target()));
        }
        walking.end().unwrap_or_else(|e| no_memory(e));
    }

    /// In the pause that ends it, when everything is marked and nothing forgotten yet.
    pub(super) fn end(&self, pause: &Pause<'_>, walk: &Walk) -> Floating {
        let mut walking = walk.begin(pause.space(), &self.at_end).unwrap_or_else(|e| no_memory(e));
        check_from_precise_roots(pause, &mut walking);
        self.reach_from_words(pause, &mut walking);
        walking.end().unwrap_or_else(|e| no_memory(e));
        self.check_start(pause);
        let floating = self.count_floating(pause);
        self.at_start.clear().and_then(|()| self.at_end.clear()).unwrap_or_else(|e| no_memory(e));
        floating
    }

    /// Goes on from ambiguous words, of roots and of objects that were reached.
    fn reach_from_words(&self, pause: &Pause<'_>, walking: &mut Walking<'_>) {
        let space = pause.space();
        let is_kept = |address: usize| !is_missed(pause, address);
        for_each_ambiguous_root(pause, |object| reach_if(is_kept, walking, object));
        pause.world().for_each_span(|_, span| {
            let kind = space.layouts().shape(span.shape()).kind();
            if kind.has_ambiguous_words() || matches!(kind, ScanKind::Trace | ScanKind::Numbered) {
                for object in span.iter().map(ObjectRef::get).filter(|&object| self.at_end.has(object)) {
                    let edges = (object, span.object_bytes() / WORD * WORD);
                    for_each_edge(space, edges, true, |edge| reach_if(is_kept, walking, edge.target()));
                }
            }
        });
        while let Some(object) = walking.next() {
            for_each_edge(space, object, true, |edge| reach_if(is_kept, walking, edge.target()));
        }
    }

    /// Ends the process if an object is not marked that could be reached at the start.
    fn check_start(&self, pause: &Pause<'_>) {
        self.at_start.for_each(|object| {
            // The program may have ended an arena meanwhile, and another may have its memory.
            let is_arena = pause.space().arenas().find_chunk(Address::new(object)).is_some();
            if !is_arena && is_missed(pause, object) {
                corrupt(format_args!(
                    "the object at {object:#x} was not marked by the concurrent marking, though it could be reached when \
                     that began"
                ));
            }
        });
    }

    fn count_floating(&self, pause: &Pause<'_>) -> Floating {
        let (space, world) = (pause.space(), pause.world());
        let mut floating = Floating::default();
        world.for_each_span(|_, span| {
            let shape = space.layouts().shape(span.shape());
            if shape.kind() == ScanKind::Arena {
                return;
            }
            // In cells and pages, as live bytes.
            let bytes = match shape.cell_size as usize {
                0 => span.pages().bytes(),
                cell => cell,
            };
            let floats = |object: &ObjectRef| {
                world.is_marked(*object) && !space.is_freed(*object) && !self.at_end.has(object.get())
            };
            let objects = span.iter().filter(floats).count();
            floating.objects += objects;
            floating.bytes += objects * bytes;
        });
        floating
    }
}

/// Follows precise edges from precise roots. Ends the process at the first that leads to an object without a mark.
fn check_from_precise_roots(pause: &Pause<'_>, walking: &mut Walking<'_>) {
    const MISSED: &str =
        "which was not marked by the concurrent marking: a second marking, of the stopped heap, reaches it";
    for_each_root(pause, |from, at, value| {
        if is_missed(pause, value) {
            corrupt(format_args!("{from} at {at:#x} refers to {value:#x}, {MISSED}"));
        }
        walking.reach(value);
    });
    while let Some((object, bytes)) = walking.next() {
        // Roots and edges have been looked at.
        if is_missed(pause, object) {
            corrupt(format_args!("an ephemeron whose key is reached has the value {object:#x}, {MISSED}"));
        }
        for_each_edge(pause.space(), (object, bytes), false, |edge| {
            let value = edge.target();
            if is_missed(pause, value) {
                match edge {
                    Edge::Slot { at, .. } => corrupt(format_args!(
                        "word {} of the object at {object:#x} ({bytes} bytes) refers to {value:#x}, {MISSED}",
                        (at - object) / WORD
                    )),
                    Edge::Traced(_) | Edge::Ambiguous(_) => corrupt(format_args!(
                        "the trace function of the object at {object:#x} ({bytes} bytes) reports {value:#x}, {MISSED}"
                    )),
                }
            }
            walking.reach(value);
        });
    }
}

/// Whether an address leads to an object without a mark that the program has not freed. A chunk that an arena has released
/// since the start belongs to none, and references to it are allowed.
fn is_missed(pause: &Pause<'_>, address: usize) -> bool {
    let (space, world, address) = (pause.space(), pause.world(), Address::new(address));
    if !space.contains(address) {
        return false;
    }
    let Some(object) = space.arenas().marked_as(address) else { return false };
    let object = ObjectRef::new(object.get());
    let is_abandoned = || space.arenas().find_chunk(address).is_some_and(MarkedArenaChunk::is_abandoned);
    !world.is_marked(object) && !space.is_freed(object) && !is_abandoned()
}

fn reach_if(is_wanted: impl Fn(usize) -> bool, walking: &mut Walking<'_>, address: usize) {
    if is_wanted(address) {
        walking.reach(address);
    }
}

impl Mapped for SecondMarking {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.at_start, &self.at_end], f);
    }
}
