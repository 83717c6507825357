//! The program's use of links: words of its own memory, and of objects, that are set to 0 when an object is dead. Invariant: the model
//! knows what each word holds; long links read what finalisers bring back.

use super::check::Outcome;
use super::world::World;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc_testing::model::graph::{Id, Masked};
use heapwood_gc_testing::model::kinds::Slots;
use std::collections::BTreeMap;

/// Words of the program's own.
const WORDS: usize = 32;
/// Links in objects, at most.
const MOST_INSIDE: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Own(usize),
    In(Id, u32),
}

#[derive(Clone, Copy, Debug)]
struct Link {
    object: Id,
    is_long: bool,
    is_hidden: bool,
}

/// All that have a link.
pub(crate) struct Links {
    words: Box<[AtomicUsize]>,
    all: BTreeMap<Place, Link>,
    /// Links that were cleared, and those that went with what they lay in.
    pub(crate) cleared: usize,
    pub(crate) dropped: usize,
}

impl Links {
    pub(super) fn new() -> Self {
        let words = (0..WORDS).map(|_| AtomicUsize::new(0)).collect();
        Links { words, all: BTreeMap::new(), cleared: 0, dropped: 0 }
    }

    /// Whether an object has a link, or one lies in it.
    pub(super) fn has(&self, id: Id) -> bool {
        let is_inside = |place: &Place| matches!(place, Place::In(holder, _) if *holder == id);
        self.all.iter().any(|(place, link)| link.object == id || is_inside(place))
    }
}

impl World {
    fn slot_of(&self, place: Place) -> *mut usize {
        match place {
            Place::Own(i) => self.links.words[i].as_ptr(),
            Place::In(id, word) => self.slot_ptr(id, word),
        }
    }

    fn link_word(&self, place: Place) -> usize {
        // SAFETY: a word of the program's, or of an object that exists.
        unsafe { AtomicUsize::from_ptr(self.slot_of(place)) }.load(Ordering::Relaxed)
    }

    fn whole(&self, link: Link) -> usize {
        let at = self.addr(link.object);
        if link.is_hidden { !at } else { at }
    }

    /// A word for a link: of the program's own, or one without pointers in an object.
    fn link_place(&mut self) -> Option<Place> {
        if self.rng.one_in(2) {
            return Some(Place::Own(self.rng.below(WORDS)));
        }
        let id = self.any_in_heap()?;
        let (object, kind) = (self.model.get(id), &self.kinds.all[self.model.get(id).kind]);
        let is_plain = kind.holds == Slots::Precise && !kind.is_opaque && object.pair.is_none();
        let is_free = object.decoy.is_none() && kind.words() > 0 && self.links.all.len() < MOST_INSIDE;
        let word = self.rng.below(kind.words().max(1));
        let kind = &self.kinds.all[self.model.get(id).kind];
        let is_data = is_plain && is_free && !kind.is_slot[word] && !(kind.counted && word == 0);
        is_data.then_some(Place::In(id, word as u32))
    }

    pub(super) fn use_links(&mut self) -> Outcome {
        match self.rng.below(8) {
            0..4 => self.add_link(),
            4 => {
                let Some((place, _)) = self.some_link() else { return Ok(()) };
                self.links.all.remove(&place);
                if !self.heap.remove_link(self.slot_of(place)) {
                    return Err(format!("{place:?} had no link"));
                }
                self.forget_word(place);
                Ok(())
            }
            5 => self.move_link(),
            _ => self.read_link(),
        }
    }

    fn some_link(&mut self) -> Option<(Place, Link)> {
        let n = self.rng.below(self.links.all.len().max(1));
        let found = self.links.all.iter().nth(n).map(|(place, link)| (*place, *link));
        // Nobody reaches a word of what is dead.
        found.filter(|(place, _)| !matches!(place, Place::In(id, _) if self.model.get(*id).dead))
    }

    fn add_link(&mut self) -> Outcome {
        let (Some(place), Some(object)) = (self.link_place(), self.any_in_heap()) else { return Ok(()) };
        let is_hidden = matches!(place, Place::Own(_)) && self.rng.one_in(2);
        let link = Link { object, is_long: self.rng.one_in(2), is_hidden };
        let (slot, at) =
            (self.slot_of(place), NonNull::new(self.addr(object) as *mut u8).expect("an object"));
        // SAFETY: as above; nothing refers to the word but links.
        unsafe { AtomicUsize::from_ptr(slot) }.store(self.whole(link), Ordering::Relaxed);
        // SAFETY: objects with links are not freed, nor those that have one inside; the object is reachable.
        unsafe { self.mutator().add_link(slot, at, link.is_long) }.map_err(|e| format!("no link: {e}"))?;
        self.links.all.insert(place, link);
        if let Place::In(id, word) = place {
            self.model.get_mut(id).decoy = Some((word, self.model.get(object).at));
        }
        Ok(())
    }

    fn move_link(&mut self) -> Outcome {
        let Some((from, link)) = self.some_link() else { return Ok(()) };
        let to = Place::Own(self.rng.below(WORDS));
        // SAFETY: words of the program, or of an object that it has.
        unsafe { self.mutator().move_link(self.slot_of(from), self.slot_of(to)) }
            .map_err(|e| format!("moving the link of {from:?} gave {e}"))?;
        self.links.all.remove(&from);
        self.links.all.insert(to, link);
        if from != to {
            self.forget_word(from);
        }
        Ok(())
    }

    /// Reads one, and may keep what it has read: also what only a finaliser has brought back.
    fn read_link(&mut self) -> Outcome {
        let Some((place, link)) = self.some_link() else { return Ok(()) };
        let found = self.mutator().read_link(self.slot_of(place));
        let found = found.map_err(|e| format!("reading a link: {e}"))?.map_or(0, |at| at.as_ptr() as usize);
        if found != self.addr(link.object) {
            return Err(format!("the link of {place:?} reads {found:#x}, and not {link:?}"));
        }
        self.has_read(core::iter::once(link.object));
        // While something is queued nobody changes what is dead, so the model knows what queues keep.
        if !self.model.get(link.object).dead || !self.wills.is_holding() && self.settings.exact() {
            self.model.revive(link.object);
            self.root(link.object);
        }
        Ok(())
    }

    /// A collection has marked `first` before finalisers, and `kept` with what they bring back: it clears short links by the one, long
    /// ones by the other, and drops those that lie in what is dead.
    pub(super) fn settle_links(&mut self, first: &[bool], kept: &[bool], sure: bool) {
        let all: Vec<_> = self.links.all.iter().map(|(place, link)| (*place, *link)).collect();
        for (place, link) in all {
            let lives = if link.is_long { kept } else { first }[link.object.0];
            if matches!(place, Place::In(id, _) if !kept[id.0]) {
                self.links.all.remove(&place);
                self.links.dropped += 1;
            } else if !lives {
                self.links.all.remove(&place);
                self.links.cleared += 1;
                // Something else may keep the object; nobody knows how long.
                if !sure && self.link_word(place) != 0 {
                    self.heap.remove_link(self.slot_of(place));
                    self.clear_word(place);
                }
                if let Place::In(id, word) = place {
                    self.model.get_mut(id).decoy = Some((word, Masked::new(0)));
                }
            }
        }
    }

    /// A word of the program's own that has no link any more is 0.
    fn forget_word(&self, place: Place) {
        if let Place::Own(_) = place {
            self.clear_word(place);
        }
    }

    fn clear_word(&self, place: Place) {
        // SAFETY: as for `link_word`.
        unsafe { AtomicUsize::from_ptr(self.slot_of(place)) }.store(0, Ordering::Relaxed);
    }

    /// The words of the program's own hold what they must; those in objects are compared with these.
    pub(super) fn check_links(&self, sure: bool) -> Outcome {
        for (i, word) in self.links.words.iter().enumerate() {
            let found = word.load(Ordering::Relaxed);
            let link = self.links.all.get(&Place::Own(i));
            if found != link.map_or(0, |link| self.whole(*link)) {
                return Err(format!("word {i} holds {found:#x}, and has {link:?}: cleared early, or late"));
            }
        }
        match (sure, self.heap.links(), self.links.all.len()) {
            (true, heap, model) if heap != model => Err(format!("there are {heap} links, and not {model}")),
            _ => Ok(()),
        }
    }

    /// Removes all.
    pub(super) fn end_links(&mut self) {
        for place in core::mem::take(&mut self.links.all).into_keys() {
            self.heap.remove_link(self.slot_of(place));
        }
    }
}
