//! Forgotten pointers, in verify mode: words of live objects that their types do not call pointers, and that hold the address of
//! an object which a collection has just found dead. A mask that lacks a bit, or a trace function that lacks a field, is found
//! where the object dies and not where its memory is used again. An integer may hold such an address by chance, and a pointer may
//! be meant to be weak: so it is a report, and ends nothing. Objects without pointers are searched if their type has a name: a
//! struct may have been called so by mistake. Plain bytes are not.
//! Invariant: a word is reported once, by the collection in which the object dies.

use super::births::Births;
use super::reports::Reports;
use super::slots::{for_each_slot, shape_of};
use super::walk::ObjectSet;
use crate::pause::Pause;
use core::ops::Range;
use heapwood_heap::{Address, GRANULE, ObjectRef, ScanKind, Shape, Space};
use heapwood_layout::WORD;
use heapwood_os::{KernelRef, Mapped, OsError};

/// The objects that existed before a marking.
pub(super) struct Forgotten {
    before: ObjectSet,
}

impl Forgotten {
    pub(super) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        Ok(Forgotten { before: ObjectSet::new(kernel, space)? })
    }

    /// Notes what exists. The heap is stopped, flushed and swept.
    ///
    /// # Errors
    /// The kernel refuses memory for the notes.
    pub(super) fn before_marking(&self, pause: &Pause<'_>) -> Result<(), OsError> {
        self.before.clear()?;
        self.before.make_room(pause.space())?;
        pause.world().for_each_object(|object, _| {
            self.before.add(object.get());
        });
        Ok(())
    }

    /// Whether an object existed then, and has died since. The next cycle has begun: what is alive has its allocation bit.
    pub(super) fn has_died(&self, pause: &Pause<'_>, word: usize) -> bool {
        let (space, world) = (pause.space(), pause.world());
        space.contains(Address::new(word))
            && word.is_multiple_of(GRANULE)
            && self.before.has(word)
            && !world.is_allocated(ObjectRef::new(word))
            && !space.is_freed(ObjectRef::new(word))
            && space.arenas().find(Address::new(word)).is_none()
    }

    /// The first byte of such an object that a word points to or into.
    pub(super) fn died_at(&self, pause: &Pause<'_>, word: usize) -> Option<usize> {
        let at = Address::new(word);
        let object = pause.space().find_span(at)?.cell_in(at)?.get();
        self.has_died(pause, object).then_some(object)
    }

    /// Reports words that lead to what has died since; whether anything has.
    pub(super) fn after_marking(&self, pause: &Pause<'_>, births: &Births, reports: &Reports) -> bool {
        let (space, world) = (pause.space(), pause.world());
        // It is counted when the threads go on.
        let collection = pause.state().cycles().collections() as u32 + 1;
        let is_alive = |object: usize| world.is_allocated(ObjectRef::new(object));
        let has_died = |word: usize| self.has_died(pause, word);
        let mut some_died = false;
        self.before.for_each(|object| {
            if has_died(object) {
                some_died = true;
                let bytes = space.find_span(Address::new(object)).map_or(0, |span| span.object_bytes());
                births.note_death(space, (object, bytes), collection);
            }
        });
        if !some_died {
            return false;
        }
        world.for_each_span(|_, span| {
            let bytes = span.object_bytes();
            // What an ephemeron's words mean is for `ephemerons` to check; an ambiguous word keeps what it leads to, or does not
            // count; arenas have bits, and their chunks are not read as one object; bytes are bytes, unless they have a type with a name.
            let kind = |object: usize| shape_of(space, object).map(Shape::kind);
            let is_checked = |object: usize| {
                match kind(object) {
                    None | Some(ScanKind::Ephemeron | ScanKind::Conservative | ScanKind::Arena) => false,
                    Some(ScanKind::NoPointers) => births.has_name(object),
                    Some(_) => true,
                }
            };
            for object in span.iter().map(ObjectRef::get).filter(|&o| is_alive(o) && is_checked(o)) {
                for word in 0..bytes / WORD {
                    // SAFETY: the word lies in an object of a stopped heap.
                    let value = unsafe { ((object + word * WORD) as *const usize).read() };
                    if has_died(value) && !is_slot(space, object, bytes, word) {
                        let Some(gone) = births.tell_gone(value) else { continue };
                        reports.say(format_args!(
                            "word {word} of {} leads to {gone}: nothing else does, and its type does not call that word a \
                             pointer; does a mask or trace function lack it?",
                            births.tell(object, bytes),
                        ));
                    }
                }
            }
        });
        true
    }
}

/// Whether a word of an object is a slot.
fn is_slot(space: &Space, object: usize, bytes: usize, word: usize) -> bool {
    let mut found = false;
    for_each_slot(space, object, bytes, |slot| found |= slot == object + word * WORD);
    found
}

impl Mapped for Forgotten {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.before.for_each_mapping(f);
    }
}
