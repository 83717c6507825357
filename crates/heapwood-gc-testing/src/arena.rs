//! Arenas as tests use them: plain functions over a mutator's. Invariant: an [`Arena`] is used while its mutator is attached, and by
//! that alone.

use crate::words::store;
use core::ptr::NonNull;
use heapwood_gc::{AllocError, Mutator};
use heapwood_heap::{ArenaHeader, ArenaKind, ArenaLayout, ArenaState};
use heapwood_layout::WORD;

/// An arena that was opened here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arena(pub NonNull<ArenaHeader>);

/// A layout of arenas' values, and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    pub key: usize,
    pub layout: ArenaLayout,
}

impl Values {
    /// Values of so many words, those of the mask being pointers.
    pub fn new(key: usize, words: usize, mask: [u64; 4]) -> Self {
        Values { key, layout: ArenaLayout::new(words * WORD, mask).unwrap() }
    }

    pub fn words(&self) -> usize {
        self.layout.bytes() / WORD
    }
}

impl Arena {
    pub fn open(mutator: &Mutator, kind: ArenaKind) -> Self {
        Arena(mutator.arenas().open(kind, false).unwrap())
    }

    pub fn header(&self) -> &ArenaHeader {
        // SAFETY: tests use an arena while the heap keeps its header.
        unsafe { self.0.as_ref() }
    }

    /// Where `count` values go, whether there was room at hand or not: to be committed.
    pub fn peek(&self, mutator: &Mutator, values: Values, count: usize) -> Result<usize, AllocError> {
        match self.header().peek(values.key, values.layout.bytes() * count) {
            Some(at) => Ok(at),
            // SAFETY: the header is of this heap, which the mutator's borrow keeps.
            None => unsafe { mutator.arenas().reserve(self.header(), (values.key, values.layout), count) },
        }
    }

    /// A value of these words.
    pub fn value(&self, mutator: &Mutator, values: Values, words: &[usize]) -> usize {
        assert_eq!(words.len(), values.words());
        let at = self.peek(mutator, values, 1).unwrap();
        // SAFETY: there is room for them.
        words.iter().enumerate().for_each(|(i, &word)| unsafe { store((at as *mut usize).add(i), word) });
        self.header().commit(at, values.layout.bytes());
        at
    }

    /// So many values that are zeros, one behind the other.
    pub fn zeros(&self, mutator: &Mutator, values: Values, count: usize) -> Result<usize, AllocError> {
        let at = self.peek(mutator, values, count)?;
        // SAFETY: there is room for them.
        (0..values.words() * count).for_each(|i| unsafe { store((at as *mut usize).add(i), 0) });
        self.header().commit(at, values.layout.bytes() * count);
        Ok(at)
    }

    /// A value without pointers.
    pub fn data(&self, mutator: &Mutator, bytes: usize, align: usize) -> Result<usize, AllocError> {
        match self.header().take_data(bytes, align) {
            Some(at) => Ok(at),
            // SAFETY: the header is of this heap, which the mutator's borrow keeps.
            None => unsafe { mutator.arenas().take_data(self.header(), bytes, align) },
        }
    }

    pub fn is_open(&self) -> bool {
        self.header().state() == ArenaState::Open
    }

    pub fn close(self, mutator: &Mutator) {
        // SAFETY: the header is of this heap; tests have put away what refers to its values.
        unsafe { mutator.arenas().close(self.header()) }.unwrap();
    }

    pub fn empty(&self, mutator: &Mutator) {
        // SAFETY: as above.
        unsafe { mutator.arenas().empty(self.header()) }.unwrap();
    }

    pub fn leave(self, mutator: &Mutator) {
        // SAFETY: the header is of this heap.
        unsafe { mutator.arenas().leave(self.header()) }.unwrap();
    }
}
