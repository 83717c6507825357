//! Why an object is alive: a shortest path to it from a root, found by a walk in the breadth that remembers from where each object
//! was first reached. Roots that are not on stacks come first, since who asks about an object has its address on a stack. The
//! table of the walk is mapped memory, a word a granule, for the time of one question.
//! Invariant: each step of the answer is an edge that a full collection follows; of an ephemeron, its value, as long as that has a key.

use super::births::Births;
use super::edges::{Edge, for_each_edge};
use super::ephemerons::ephemeron_at;
use crate::pause::Pause;
use crate::roots::Source;
use core::fmt::{self, Write};
use core::ops::Range;
use heapwood_heap::{Address, Collection, GRANULE, Space};
use heapwood_layout::WORD;
use heapwood_os::diagnose::backtrace::CodeLocation;
use heapwood_os::{KernelRef, MappedArray, OsError};

/// The bit of a holder that is the address of a root's word.
const ROOT: usize = 1;
/// The most steps that an answer tells.
const STEPS: usize = 32;

/// The words of a root by which the walk first comes to objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RootsOf {
    Others,
    Stacks,
}

/// A walk.
struct Search<'s> {
    space: &'s Space,
    /// Of each granule, what the object there was reached from; 0 for none.
    holders: MappedArray<usize>,
    /// Objects in the order in which they were reached.
    waiting: MappedArray<usize>,
    reached: usize,
}

impl<'s> Search<'s> {
    fn new(kernel: KernelRef, space: &'s Space) -> Result<Self, OsError> {
        let granules = (space.committed_end() / GRANULE).max(1);
        let (holders, waiting) = (MappedArray::new(kernel, granules)?, MappedArray::new(kernel, granules)?);
        holders.commit(0..granules)?;
        waiting.commit(0..granules)?;
        Ok(Search { space, holders, waiting, reached: 0 })
    }

    /// The place of an object's holder.
    fn place(&self, object: usize) -> *mut usize {
        self.holders.at((object - self.space.base().get()) / GRANULE)
    }

    fn holder(&self, object: usize) -> usize {
        // SAFETY: all places are committed, and one thread uses them.
        unsafe { self.place(object).read() }
    }

    /// Notes that a word leads to or into an object, which is held by that.
    fn reach(&mut self, word: usize, holder: usize) {
        if let Some(found) = self.space.find(Address::new(word))
            && self.holder(found.base.get()) == 0
        {
            // SAFETY: as above; an object is reached once, and there are at least as many granules as objects.
            unsafe {
                self.place(found.base.get()).write(holder);
                self.waiting.at(self.reached).write(found.base.get());
            }
            self.reached += 1;
        }
    }

    fn roots(&mut self, pause: &Pause<'_>, of: RootsOf) {
        let rules = pause.state().ambiguous_words();
        pause.for_each_root(Collection::Full, |source, words| {
            let is_stack = matches!(source, Source::Stack | Source::Cell);
            if is_stack != (of == RootsOf::Stacks) {
                return;
            }
            for_each_word(words, |at, word| {
                let counts = is_stack
                    || source.is_precise()
                    || self
                        .space
                        .find(Address::new(word))
                        .is_some_and(|o| rules.counts_for(word, o.base.get()));
                if counts {
                    self.reach(word, at | ROOT);
                }
            });
        });
    }

    /// Follows the edges of what was reached, until `object` is.
    fn follow(&mut self, next: &mut usize, object: usize) -> bool {
        while self.holder(object) == 0 && *next < self.reached {
            // SAFETY: this many were written.
            let holder = unsafe { self.waiting.at(*next).read() };
            *next += 1;
            let Some(found) = self.space.find(Address::new(holder)) else { continue };
            for_each_edge_of(self.space, (holder, found.bytes), |_, target| self.reach(target, holder));
        }
        self.holder(object) != 0
    }
}

/// Calls `f` with each whole word of a range, and its address.
fn for_each_word(words: Range<usize>, mut f: impl FnMut(usize, usize)) {
    for at in (words.start.next_multiple_of(WORD)..words.end & !(WORD - 1)).step_by(WORD) {
        // SAFETY: roots stay readable during the call that names them.
        f(at, unsafe { (at as *const usize).read_volatile() });
    }
}

/// Calls `f` with each edge of an object, and the address of its slot if it has one. The calling thread is registered as one that
/// marks.
fn for_each_edge_of(space: &Space, object: (usize, usize), mut f: impl FnMut(Option<usize>, usize)) {
    for_each_edge(space, object, true, |edge| match edge {
        Edge::Slot { at, value } => f(Some(at), value),
        Edge::Traced(target) | Edge::Ambiguous(target) => f(None, target),
    });
    if let Some(ephemeron) = ephemeron_at(space, object.0).filter(|ephemeron| ephemeron.key() != 0) {
        f(None, ephemeron.value());
    }
}

/// Writes why an object is alive, in lines. The heap is stopped, and the calling thread registered as one that marks.
///
/// # Errors
/// The kernel refuses memory for the walk.
pub(crate) fn why_alive(
    pause: &Pause<'_>,
    kernel: KernelRef,
    births: Option<&Births>,
    object: usize,
    text: &mut dyn Write,
) -> Result<(), OsError> {
    let space = pause.space();
    let mut search = Search::new(kernel, space)?;
    let mut next = 0;
    search.roots(pause, RootsOf::Others);
    let mut found = search.follow(&mut next, object);
    if !found {
        search.roots(pause, RootsOf::Stacks);
        found = search.follow(&mut next, object);
    }
    // A text that has no room for all is cut.
    let _ = tell(pause, &search, births, object, found, text);
    Ok(())
}

fn tell(
    pause: &Pause<'_>,
    search: &Search<'_>,
    births: Option<&Births>,
    object: usize,
    found: bool,
    text: &mut dyn Write,
) -> fmt::Result {
    let space = search.space;
    let name = |text: &mut dyn Write, object: usize| {
        let bytes = space.find(Address::new(object)).map_or(0, |found| found.bytes);
        match births {
            Some(births) => write!(text, "{}", births.tell(object, bytes)),
            None => write!(text, "the object at {object:#x} ({bytes} bytes)"),
        }
    };
    name(text, object)?;
    if !found {
        return text.write_str(": no root leads to it; a collection finds it dead");
    }
    let mut at = object;
    for _ in 0..STEPS {
        let holder = search.holder(at);
        if holder & ROOT != 0 {
            return tell_root(pause, holder & !ROOT, text);
        }
        let mut word = None;
        let bytes = space.find(Address::new(holder)).map_or(0, |found| found.bytes);
        for_each_edge_of(space, (holder, bytes), |slot, target| {
            if word.is_none() && space.find(Address::new(target)).is_some_and(|o| o.base.get() == at) {
                word = slot.map(|slot| (slot - holder) / WORD);
            }
        });
        match word {
            Some(word) => write!(text, "\nfrom word {word} of ")?,
            None => text.write_str("\nfrom ")?,
        }
        name(text, holder)?;
        at = holder;
    }
    let mut more = 0;
    while search.holder(at) & ROOT == 0 {
        (at, more) = (search.holder(at), more + 1);
    }
    write!(text, "\nfrom {more} more")?;
    tell_root(pause, search.holder(at) & !ROOT, text)
}

fn tell_root(pause: &Pause<'_>, word: usize, text: &mut dyn Write) -> fmt::Result {
    let mut kind = None;
    pause.for_each_root(Collection::Full, |source, words| {
        if kind.is_none() && words.contains(&word) {
            kind = Some(source);
        }
    });
    match kind {
        Some(kind @ (Source::Slots | Source::Range | Source::Library)) => {
            write!(text, "\nfrom {kind} at {word:#x} ({})", CodeLocation::of(word))
        }
        Some(kind) => write!(text, "\nfrom {kind} at {word:#x}"),
        // It was a copy that has no address of its own.
        None => text.write_str("\nfrom a root without an address"),
    }
}
