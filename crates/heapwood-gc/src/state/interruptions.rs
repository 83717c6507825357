//! A log of the stop signals that interrupted a heap's threads, for tests that stop a thread at each of its
//! instructions. It is empty until a test gives a ring.
//!
//! Invariant: a handler writes its entry before it returns, and an entry is one word.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// What a handler did with a stop signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Interruption {
    /// It stopped the thread.
    Stopped = 1,
    /// The thread was in a no-preempt region, and stops when it leaves.
    InNoPreempt = 2,
    /// No collector asked any more, or the thread was not running in its heaps.
    NotAsked = 3,
    /// The thread was on an unknown stack.
    OnNoStack = 4,
}

impl Interruption {
    /// Bits of the enum in a word; the others hold the instruction.
    const BITS: u32 = 3;

    /// The instruction and the result in a word; `None` if it was not written yet.
    pub fn of_word(word: usize) -> Option<(usize, Interruption)> {
        use Interruption::*;
        let which = [Stopped, InNoPreempt, NotAsked, OnNoStack];
        let found = which.into_iter().find(|&one| one as usize == word & ((1 << Self::BITS) - 1))?;
        Some((word >> Self::BITS, found))
    }
}

/// The log, in a ring that a test owns.
#[derive(Default)]
pub(crate) struct Interruptions {
    ring: AtomicPtr<AtomicUsize>,
    words: AtomicUsize,
    noted: AtomicUsize,
}

impl Interruptions {
    /// Sets the ring.
    pub(crate) fn note_into(&self, ring: &'static [AtomicUsize]) {
        self.words.store(ring.len(), Ordering::Relaxed);
        self.ring.store(ring.as_ptr().cast_mut(), Ordering::Release);
    }

    /// The number of entries.
    pub(crate) fn noted(&self) -> usize {
        self.noted.load(Ordering::Acquire)
    }

    /// Adds an entry: a signal interrupted a thread at `instruction`.
    pub(crate) fn note(&self, instruction: usize, what: Interruption) {
        let ring = self.ring.load(Ordering::Acquire);
        if !ring.is_null() {
            let line = self.noted.fetch_add(1, Ordering::AcqRel) % self.words.load(Ordering::Relaxed);
            // SAFETY: the ring has `words` words, and is never freed.
            unsafe { &*ring.add(line) }
                .store(instruction << Interruption::BITS | what as usize, Ordering::Release);
        }
    }
}
