//! Where signals have interrupted the threads of a heap, and what their handler made of it: for tests that ask whether a thread can
//! be stopped at each of its instructions. Nothing is written down until a test gives a ring.
//!
//! Invariant: a handler writes its line before it returns, and a line is one word.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// What a handler made of a signal that was to stop its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Interruption {
    /// It stopped the thread there.
    Stopped = 1,
    /// The thread was in a section, and stops as it comes out.
    InNoPreempt = 2,
    /// Nobody asked any more, or the thread does not touch its heaps.
    NotAsked = 3,
    /// The thread was on a stack that is not known.
    OnNoStack = 4,
}

impl Interruption {
    /// The bits that it takes up in a word, beside the instruction.
    const BITS: u32 = 3;

    /// What a word says: where, and what became of it. `None` if it was not written yet.
    pub fn of_word(word: usize) -> Option<(usize, Interruption)> {
        use Interruption::*;
        let which = [Stopped, InNoPreempt, NotAsked, OnNoStack];
        let found = which.into_iter().find(|&one| one as usize == word & ((1 << Self::BITS) - 1))?;
        Some((word >> Self::BITS, found))
    }
}

/// Where they are written down, a ring of the test's.
#[derive(Default)]
pub(crate) struct Interruptions {
    ring: AtomicPtr<AtomicUsize>,
    words: AtomicUsize,
    noted: AtomicUsize,
}

impl Interruptions {
    /// From now on they are written there.
    pub(crate) fn note_into(&self, ring: &'static [AtomicUsize]) {
        self.words.store(ring.len(), Ordering::Relaxed);
        self.ring.store(ring.as_ptr().cast_mut(), Ordering::Release);
    }

    /// How many were written.
    pub(crate) fn noted(&self) -> usize {
        self.noted.load(Ordering::Acquire)
    }

    /// A signal has interrupted a thread there.
    pub(crate) fn note(&self, instruction: usize, what: Interruption) {
        let ring = self.ring.load(Ordering::Acquire);
        if !ring.is_null() {
            let line = self.noted.fetch_add(1, Ordering::AcqRel) % self.words.load(Ordering::Relaxed);
            // SAFETY: the ring has N words, and stays.
            unsafe { &*ring.add(line) }
                .store(instruction << Interruption::BITS | what as usize, Ordering::Release);
        }
    }
}
