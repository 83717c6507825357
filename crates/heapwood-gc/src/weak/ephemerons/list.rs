//! Lists of ephemerons, linked through the ephemerons themselves, so that a marking needs no memory for them. Each marker fills
//! one of its own and joins it to the marking's when it ends. Invariant: those on a list were claimed by one marking, and each
//! is on one list.

use super::cell::Ephemeron;
use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A list of one thread's.
#[derive(Default)]
pub(crate) struct List {
    first: Cell<usize>,
    last: Cell<usize>,
}

impl List {
    pub(crate) fn add(&self, ephemeron: Ephemeron) {
        ephemeron.set_next(Ephemeron::listed(self.first.get()));
        if self.first.get() == 0 {
            self.last.set(ephemeron.address());
        }
        self.first.set(ephemeron.address());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.get() == 0
    }

    /// Takes the one that was added last.
    pub(crate) fn take(&self) -> Option<Ephemeron> {
        let first = Ephemeron::listed(self.first.get())?;
        self.first.set(first.next().map_or(0, Ephemeron::address));
        Some(first)
    }
}

/// A list that several threads add to. It is emptied by one, when the others have ended.
#[derive(Default)]
pub(crate) struct SharedList(AtomicUsize);

impl SharedList {
    /// Takes over what a thread has listed.
    pub(crate) fn join(&self, list: &List) {
        let (first, last) = (list.first.take(), list.last.take());
        let Some(last) = (first != 0).then(|| Ephemeron::listed(last)).flatten() else { return };
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            last.set_next(Ephemeron::listed(now));
            // Who takes the list sees the links.
            match self.0.compare_exchange_weak(now, first, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Takes over a list, if this is empty and one thread uses it.
    pub(crate) fn replace(&self, list: List) {
        self.0.store(list.first.get(), Ordering::Relaxed);
    }

    /// Takes the first, if one thread uses it.
    pub(crate) fn take_first(&self) -> Option<Ephemeron> {
        let first = Ephemeron::listed(self.0.load(Ordering::Relaxed))?;
        self.0.store(first.next().map_or(0, Ephemeron::address), Ordering::Relaxed);
        Some(first)
    }

    /// Takes all.
    pub(crate) fn take(&self) -> List {
        List { first: Cell::new(self.0.swap(0, Ordering::Acquire)), last: Cell::new(0) }
    }
}
