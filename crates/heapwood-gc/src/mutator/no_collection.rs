//! A region without collections, in which a thread neither stops in its heap nor collects it (`entry/no_collection.rs`). Invariant:
//! in the region the mutator's state is running, whatever its thread waits for; so no pause begins or ends there.

use core::cell::Cell;

/// What a thread owes that could not collect when a collection was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owed {
    #[default]
    Nothing,
    /// The budget was used up when so many collections had ended, for an object of so many bytes.
    Budget { seen: u64, bytes: usize },
    /// There was no room without a full collection of this number.
    Room { number: u64 },
}

/// The region of a mutator.
#[derive(Default)]
pub(crate) struct NoCollection {
    is_inside: Cell<bool>,
    owed: Cell<Owed>,
}

impl NoCollection {
    /// Whether the thread is in it.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.is_inside.get()
    }

    pub(crate) fn set_inside(&self, is_inside: bool) {
        self.is_inside.set(is_inside);
    }

    /// What it owes. Room is the larger debt.
    pub(crate) fn owe(&self, owed: Owed) {
        if !matches!(self.owed.get(), Owed::Room { .. }) {
            self.owed.set(owed);
        }
    }

    /// The same, which it does not owe any more.
    pub(crate) fn take_owed(&self) -> Owed {
        self.owed.take()
    }

    /// Whether it owes something.
    pub(crate) fn owes(&self) -> bool {
        self.owed.get() != Owed::Nothing
    }
}
