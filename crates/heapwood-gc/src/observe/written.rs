//! Memory that is nobody's and was written, in verify mode: of dead objects, and behind living ones. The space finds the first (its memory is filled when an object dies) when it
//! hands the memory out again, and at each collection. What was found before a collection waits here for it with what is known of
//! the object, for the next object has its record soon. Invariant: a place belongs to the thread that has taken it.

use super::births::{Birth, Births, Told};
use super::reports::Reports;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{CLOBBER, Space, Stopped, WrittenWord};
use heapwood_layout::WORD;

/// What waits at most: as in the space.
const PLACES: usize = 16;
/// The address in a place that a thread has taken.
const TAKEN: usize = 1;

/// A word, and the object that died there; or a byte behind one that was alive.
struct Place {
    /// The word's address; 0: the place is free.
    at: AtomicUsize,
    value: AtomicUsize,
    /// The object; 0: it is not known.
    object: AtomicUsize,
    birth: Birth,
}

/// What waits for the next collection.
pub(super) struct Written {
    places: [Place; PLACES],
}

impl Written {
    pub(super) fn new() -> Self {
        let number = || AtomicUsize::new(0);
        let place = |_| Place { at: number(), value: number(), object: number(), birth: Birth::new() };
        Written { places: core::array::from_fn(place) }
    }

    /// Notes what the space has found, before other objects are noted there.
    pub(super) fn note(&self, space: &Space, births: &Births) {
        space.take_written(|word| self.note_word(word, births));
    }

    /// Notes that the memory behind an object was written, if it was, before the program frees the object.
    pub(super) fn note_behind(&self, (object, bytes): (usize, usize), births: &Births) {
        let Some(asked) = births.asked(object).filter(|&asked| asked < bytes) else { return };
        let at = |at: usize| at as *const u8;
        // SAFETY: it is the object's memory.
        let value = |byte: &usize| unsafe { at(*byte).read_volatile() };
        if let Some(byte) = (object + asked..object + bytes).find(|byte| value(byte) != CLOBBER) {
            let word = WrittenWord { at: byte, value: value(&byte).into() };
            self.put(word, Some(object), births);
        }
    }

    fn note_word(&self, word: WrittenWord, births: &Births) {
        self.put(word, births.dead_at(word.at), births);
    }

    fn put(&self, word: WrittenWord, object: Option<usize>, births: &Births) {
        let takes = |place: &&Place| {
            place.at.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let Some(place) = self.places.iter().find(takes) else { return };
        place.value.store(word.value, Ordering::Relaxed);
        place.object.store(object.unwrap_or(0), Ordering::Relaxed);
        if let Some(object) = object {
            births.copy(object, &place.birth);
        }
        place.at.store(word.at, Ordering::Release);
    }

    /// Reports what waits, and what is written now, in a pause.
    pub(super) fn report(&self, (space, world): (&Space, &Stopped<'_>), births: &Births, reports: &Reports) {
        self.note(space, births);
        for place in self.places.iter().filter(|place| place.at.load(Ordering::Acquire) > TAKEN) {
            let word = WrittenWord {
                at: place.at.load(Ordering::Relaxed),
                value: place.value.load(Ordering::Relaxed),
            };
            let object = place.object.load(Ordering::Relaxed);
            match place.birth.asked_while_alive().filter(|_| object != 0) {
                Some(asked) => {
                    say_behind(reports, word.at - object - asked, &place.birth.tell(object), word.value)
                }
                None => say(reports, word, (object != 0).then(|| (object, place.birth.tell(object)))),
            }
            place.at.store(0, Ordering::Release);
        }
        world.for_each_written(|word| {
            let object = births.dead_at(word.at);
            say(reports, word, object.and_then(|object| Some((object, births.tell_gone(object)?))));
        });
    }
}

/// Reports an object whose memory was written behind the bytes that the program asked for, in a pause, and fills it again.
pub(super) fn check_behind((object, bytes): (usize, usize), births: &Births, reports: &Reports) {
    let Some(asked) = births.asked(object).filter(|&asked| asked < bytes) else { return };
    // SAFETY: it is the memory of an object of a stopped heap, where no slot is.
    let behind = unsafe { core::slice::from_raw_parts_mut((object + asked) as *mut u8, bytes - asked) };
    if let Some(first) = behind.iter().position(|&byte| byte != CLOBBER) {
        say_behind(reports, first, &births.tell(object, bytes), behind[first].into());
        behind.fill(CLOBBER);
    }
}

fn say_behind(reports: &Reports, byte: usize, told: &Told<'_>, value: usize) {
    reports.say(format_args!(
        "byte {byte} behind {told} was written, and is {value:#x}: a store has passed the object's end"
    ));
}

fn say(reports: &Reports, WrittenWord { at, value }: WrittenWord, was: Option<(usize, Told<'_>)>) {
    const KEPT: &str = "a pointer to it was kept where no collection looks";
    match was {
        Some((object, told)) => reports.say(format_args!(
            "word {} of the memory of {told} was written after the object was gone: it holds {value:#x}; {KEPT}",
            (at - object) / WORD
        )),
        None => reports.say(format_args!(
            "the word at {at:#x} was written after the object there was gone: it holds {value:#x}; {KEPT}"
        )),
    }
}
