//! The stacks of an attached thread, whose words are ambiguous roots: the one on which it was attached, and those that
//! it switches to (`other_stacks`). The stack pointer of a stopped thread tells which stack it is on, not the
//! announcement: so a stop between the announcement of a switch and the switch itself is correct. Invariant: while the
//! thread is stopped, every pointer that its functions hold lies in the words in use. Its registers lie on its stack
//! above the lowest of these words: the thread has pushed them, or the kernel has, to call a signal handler.

use super::moving_bottom::MovingBottom;
use super::other_stacks::{OtherStack, StackRef};
use super::words_in_use::WordsInUse;
use crate::error::{HeapError, Refusal};
use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::{Ordering, compiler_fence};
use heapwood_layout::WORD;
use heapwood_os::threads::signal::Interrupted;
use heapwood_os::threads::stack::{StackBounds, thread_pointer};

/// The stack on which a thread is attached, as far as the client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackGiven {
    /// It is the thread's own; the system knows where it lies.
    Own,
    /// One past the highest word of it that may hold pointers.
    End(usize),
    /// Its lowest address, and one past its highest.
    Bounds(usize, usize),
}

/// An address at which a handler may have interrupted its thread: the stack (none: that of the attachment), and the
/// lowest such address found there.
type Below = (Option<StackRef>, usize);

/// The stacks of one attached thread.
#[derive(Debug)]
pub(crate) struct ThreadStack {
    /// The bounds of the stack of the attachment, if they are known.
    bounds: Cell<Option<StackBounds>>,
    /// These bounds are the system's, of the thread's own stack; the first thread's may grow.
    is_own: bool,
    /// One past the highest word of that stack that may hold pointers.
    end: usize,
    in_use: WordsInUse,
    /// The stack that the thread is on, or is about to switch to, and the one before; none means that of the
    /// attachment.
    current: Cell<Option<StackRef>>,
    previous: Cell<Option<StackRef>>,
    /// The other stacks on which a stop noted the lowest word, with that word.
    noted: Cell<[Option<(StackRef, usize)>; 2]>,
    /// The thread may be on stacks of which only the ends are known, if the client says so.
    moving: MovingBottom,
    /// Words in use of the alternate signal stack, while it is stopped.
    alternate: Cell<(usize, usize)>,
    /// For each of its stacks, where a handler on the alternate stack may have interrupted the thread: the words from
    /// there on are in use, too.
    below: Cell<[Option<Below>; 3]>,
}

impl ThreadStack {
    /// The stack of the calling thread.
    pub(crate) fn here(given: StackGiven) -> Result<Self, HeapError> {
        let here = 0u8;
        let own =
            StackBounds::current().filter(|own| (own.low..own.high).contains(&(&raw const here as usize)));
        let (bounds, is_own, end) = match given {
            StackGiven::Own => (own, true, own.map(|own| own.high).ok_or(HeapError::UnknownStack)?),
            StackGiven::End(end) => (own.filter(|own| end <= own.high), true, end),
            StackGiven::Bounds(low, high) => (Some(StackBounds { low, high }), false, high),
        };
        Ok(ThreadStack {
            bounds: Cell::new(bounds),
            is_own,
            end,
            in_use: WordsInUse::none(end),
            current: Cell::new(None),
            previous: Cell::new(None),
            noted: Cell::new([None; 2]),
            moving: MovingBottom::default(),
            alternate: Cell::new((0, 0)),
            below: Cell::new([None; 3]),
        })
    }

    /// Whether both ends of the stack of the attachment are known.
    pub(crate) fn has_bounds(&self) -> bool {
        self.bounds.get().is_some()
    }

    /// The other stacks that it may be on.
    fn others(&self) -> impl Iterator<Item = (StackRef, &OtherStack)> {
        // SAFETY: records stay readable as long as the heap. One that was removed, or is another stack now, covers no
        // address of the stack that the thread is on.
        let record = |stack: StackRef| (stack, unsafe { stack.record() });
        [self.current.get(), self.previous.get()].into_iter().flatten().map(record)
    }

    /// Whether a stack pointer is in the stack of the attachment. If that is not the thread's own, perhaps only its end
    /// is known.
    fn contains(&self, pointer: usize) -> bool {
        let inside = |mut bounds: StackBounds| {
            let inside = if self.is_own {
                bounds.contains(pointer)
            } else {
                bounds.low <= pointer && pointer < bounds.high
            };
            // The first thread's stack may have grown.
            self.bounds.set(Some(bounds));
            inside
        };
        pointer < self.end && self.bounds.get().is_none_or(inside)
    }

    /// The same without asking the system, for a signal handler.
    fn contains_quietly(&self, pointer: usize) -> bool {
        pointer < self.end && self.bounds.get().is_none_or(|bounds| bounds.low <= pointer)
    }

    /// Notes the lowest word in use on one of the other stacks; false if it lies in none.
    fn note_other(&self, lowest: usize) -> bool {
        let other = self.others().find(|(_, other)| other.contains(lowest));
        other.inspect(|(stack, other)| self.note_on(*stack, other, lowest)).is_some()
    }

    fn note_on(&self, stack: StackRef, other: &OtherStack, lowest: usize) {
        other.in_use().stop_at(lowest);
        let [first, _] = self.noted.get();
        self.noted.set([Some((stack, lowest)), first]);
    }

    /// Notes the lowest word in use; false if it lies in none of its stacks.
    pub(crate) fn note(&self, lowest: usize) -> bool {
        if self.note_other(lowest) {
            return true;
        }
        let inside = self.contains(lowest);
        if inside {
            self.in_use.stop_at(lowest);
        }
        inside || self.moving.note(lowest)
    }

    /// The lowest word in use that was noted, if the thread is stopped.
    pub(crate) fn noted(&self) -> Option<usize> {
        let [other, _] = self.noted.get();
        other.map(|(_, lowest)| lowest).or(self.moving.noted()).or(self.in_use.stopped_at())
    }

    /// Whether a word is on the same stack as the word that was noted, and lower.
    pub(crate) fn is_deeper(&self, word: usize, noted: usize) -> bool {
        let on = |stack: &dyn Fn(usize) -> bool| stack(noted) && stack(word);
        let is_known = self.others().any(|(_, other)| on(&|word| other.contains(word)))
            || on(&|word| self.contains(word));
        word <= noted && (is_known || self.moving.noted() == Some(noted))
    }

    /// The bottom of the stack that the thread is on, which a client moves.
    pub(crate) fn moving(&self) -> &MovingBottom {
        &self.moving
    }

    /// The same for a thread that may be on an unknown stack. If only the end of its stack is known, the thread is on
    /// it if it is on `beside`, which has the same end.
    pub(crate) fn note_beside(&self, lowest: usize, beside: Option<&ThreadStack>) -> bool {
        let known = self.bounds.get().is_some() || beside.is_some_and(|other| other.end == self.end);
        self.note_other(lowest) || known && self.note(lowest)
    }

    /// Notes the words in use where a signal has interrupted the thread. Its registers lie above `handler`, the lowest
    /// word of the handler. False if the thread is on none of its stacks.
    pub(crate) fn note_interrupted(&self, at: &Interrupted, handler: usize) -> bool {
        let (low, high) = at.alternate;
        let is_alternate = |pointer: usize| low <= pointer && pointer < high;
        let below = at.stack_pointer - Interrupted::RED_ZONE;
        if is_alternate(handler) {
            self.alternate.set((handler, high));
        }
        if is_alternate(at.stack_pointer) {
            return self.note_below_alternate(at.stack_pointer..high);
        }
        let lowest = if is_alternate(handler) { below } else { handler };
        if self.note_other(lowest) {
            return true;
        }
        let inside = self.contains_quietly(lowest);
        if inside {
            self.in_use.stop_at(lowest);
        }
        inside || self.moving.note(lowest)
    }

    /// A handler of the program was interrupted, on the alternate stack. The kernel has written there where that
    /// handler had interrupted the thread: so the lowest of the alternate stack's words that point into a stack is no
    /// higher than that place. Which stack it was is unknown, and words that point into the others mean nothing. So
    /// each stack keeps the word noted before, and is scanned from the lowest such address, too.
    fn note_below_alternate(&self, words: Range<usize>) -> bool {
        let lowest_in = |contains: &dyn Fn(usize) -> bool| {
            let all = (words.start.next_multiple_of(WORD)..words.end & !(WORD - 1)).step_by(WORD);
            // SAFETY: the words lie between the stack pointer and the end of a stack that the kernel knows.
            let inside =
                all.map(|at| unsafe { (at as *const usize).read_volatile() }).filter(|&word| contains(word));
            inside.min()
        };
        let mut below = [None; 3];
        for (place, (stack, other)) in below[1..].iter_mut().zip(self.others()) {
            *place = lowest_in(&|word| other.contains(word)).map(|lowest| (Some(stack), lowest));
        }
        if let Some(bounds) = self.bounds.get() {
            let own = lowest_in(&|word| bounds.low <= word && word < self.end);
            below[0] = own.map(|lowest| (None, lowest));
        }
        self.below.set(below);
        let moved = self.moving.note_below_alternate(|is_near| lowest_in(is_near));
        moved || below.iter().any(Option::is_some)
    }

    /// The thread goes on: the words in use of its stack are unknown again.
    pub(crate) fn go_on(&self) {
        for (stack, lowest) in self.noted.replace([None; 2]).into_iter().flatten() {
            // SAFETY: as in `others`.
            unsafe { stack.record() }.in_use().go_on_from(lowest);
        }
        self.in_use.go_on_from(self.in_use.lowest());
        self.moving.go_on();
        self.alternate.set((0, 0));
        self.below.set([None; 3]);
    }

    /// Detaches the thread, which has this pointer: no word is in use any more.
    pub(crate) fn clear(&self, thread: usize) {
        self.others().for_each(|(_, other)| other.leave(thread));
        self.noted.set([None; 2]);
        self.current.set(None);
        self.previous.set(None);
        self.moving.clear();
        self.alternate.set((0, 0));
        self.below.set([None; 3]);
        self.in_use.clear(self.end);
    }

    /// Announces a switch to another stack, or to that of the attachment; the words of the current stack from `lowest`
    /// on stay in use. Until it has switched the thread may be stopped on either.
    ///
    /// # Errors
    /// `lowest` is not on the current stack, or another thread is on the other.
    pub(crate) fn switch(&self, to: Option<StackRef>, lowest: usize) -> Result<(), Refusal> {
        let from = self.current.get();
        // SAFETY: as in `others`.
        let from_record = from.map(|stack| unsafe { stack.record() });
        let is_on = match from_record {
            Some(from) => from.contains(lowest),
            None => self.contains(lowest),
        };
        if !is_on {
            return Err(Refusal::NotOnStack);
        }
        if to == from {
            return Ok(());
        }
        let here = thread_pointer();
        // SAFETY: as above.
        if let Some(to) = to.map(|stack| unsafe { stack.record() }) {
            to.enter(here)?;
        }
        from_record.map_or(&self.in_use, |from| from.in_use()).suspend_at(lowest);
        // A signal between any two of these finds the stack pointer on the current or the previous stack.
        compiler_fence(Ordering::SeqCst);
        self.previous.set(from);
        compiler_fence(Ordering::SeqCst);
        self.current.set(to);
        compiler_fence(Ordering::SeqCst);
        if let Some(from) = from_record {
            from.leave(here);
        }
        Ok(())
    }

    /// The addresses of the stack of the attachment below its words in use, if its thread is stopped on it.
    pub(super) fn unused(&self) -> Range<usize> {
        match (self.bounds.get(), self.in_use.stopped_at()) {
            (Some(bounds), Some(lowest)) => bounds.low..lowest,
            _ => 0..0,
        }
    }

    /// Calls `f` with the words in use of the stack of the attachment, of the alternate signal stack, and of the stacks
    /// that a handler there may have interrupted; with copies of those of a stack whose bottom alone is known, a page at a
    /// time. The thread is stopped.
    pub(super) fn for_each(&self, mut f: impl FnMut(Range<usize>)) {
        f(self.in_use.lowest()..self.end);
        let (low, high) = self.alternate.get();
        if low < high {
            f(low..high);
        }
        self.moving.for_each(&mut f);
        for (stack, lowest) in self.below.get().into_iter().flatten() {
            // SAFETY: as in `others`.
            let range = match stack.map(|stack| unsafe { stack.record() }) {
                Some(other) => other.range(),
                None => self.bounds.get().map_or(0, |bounds| bounds.low)..self.end,
            };
            // Another thread may have removed a stack since this one was stopped; it covers nothing.
            if range.contains(&lowest) {
                f((lowest - Interrupted::RED_ZONE).max(range.start)..range.end);
            }
        }
    }
}
