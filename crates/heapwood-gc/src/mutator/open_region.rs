//! A blocking region that has a beginning and an end and no function between. The words that lay on the stack where it began, up
//! to the caller's frame, are copied, since that part of the stack is used again meanwhile: among them are registers of the caller's
//! callers. Invariant: the copy is of an open region, and its thread alone writes it.

use core::cell::Cell;
use core::ops::Range;
use heapwood_layout::WORD;

/// Words that are copied at most: more than the library's own frames have there.
const MOST: usize = 256;

/// The copy of a mutator. It is not touched before the first region.
pub(super) struct StackCopy([Cell<usize>; MOST]);

/// The open region of a mutator.
pub(super) struct OpenRegion {
    is_open: Cell<bool>,
    /// Words that were copied.
    words: Cell<usize>,
}

impl OpenRegion {
    /// Whether one is open.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// It begins. The stack is in use from `lowest` up to `end`.
    pub(super) fn open(&self, copy: &StackCopy, lowest: usize, end: usize) {
        let words = (end.saturating_sub(lowest) / WORD).min(MOST);
        for i in 0..words {
            // SAFETY: the words are the calling thread's, of its own stack.
            copy.0[i].set(unsafe { ((lowest + i * WORD) as *const usize).read_volatile() });
        }
        self.words.set(words);
        self.is_open.set(true);
    }

    /// It has ended.
    pub(super) fn close(&self) {
        self.is_open.set(false);
        self.words.set(0);
    }

    /// The addresses of the words of the copy.
    pub(super) fn copied(&self, copy: &StackCopy) -> Range<usize> {
        let start = copy.0.as_ptr() as usize;
        start..start + self.words.get() * WORD
    }
}
