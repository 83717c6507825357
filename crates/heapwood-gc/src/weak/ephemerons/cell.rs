//! The four words of an ephemeron. The program sets the key once and may change the value, by the write barrier; collectors
//! clear both. The other two are the collector's: the link of the list or chain that the ephemeron is on, and the marking that
//! has put it there. Invariant: an ephemeron is on one list or chain at most, for the marking that claims it puts it there.
//!
//! Lists are linked through the ephemerons themselves, so that a marking needs no memory for them. Each marker fills one of its own and
//! joins it to the marking's when it ends.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_layout::WORD;

/// An ephemeron, by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ephemeron(usize);

impl Ephemeron {
    const KEY: usize = 0;
    const VALUE: usize = 1;
    const LINK: usize = 2;
    const CLAIM: usize = 3;

    /// The ephemeron at an address.
    ///
    /// # Safety
    /// 1. An ephemeron of a heap is there, and stays as long as this is used.
    #[inline(always)]
    pub(crate) unsafe fn at(address: usize) -> Self {
        Ephemeron(address)
    }

    #[inline(always)]
    fn word(&self, index: usize) -> &AtomicUsize {
        // SAFETY: contract 1 of `at`: its four words are aligned and readable. The program and collectors use them by atomic
        // operations alone.
        unsafe { AtomicUsize::from_ptr((self.0 + index * WORD) as *mut usize) }
    }

    pub(crate) fn address(self) -> usize {
        self.0
    }

    /// The place of its value.
    pub(crate) fn value_slot(self) -> usize {
        self.0 + Self::VALUE * WORD
    }

    /// Sets all words of a new one.
    pub(crate) fn init(self, key: usize, value: usize) {
        for (index, word) in [key, value, 0, 0].into_iter().enumerate() {
            self.word(index).store(word, Ordering::Relaxed);
        }
    }

    /// The key; 0 if it was cleared.
    #[inline(always)]
    pub(crate) fn key(self) -> usize {
        self.word(Self::KEY).load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn value(self) -> usize {
        self.word(Self::VALUE).load(Ordering::Relaxed)
    }

    /// Clears the key alone: the program's value is cleared by the write barrier.
    pub(crate) fn forget_key(self) {
        self.word(Self::KEY).store(0, Ordering::Relaxed);
    }

    pub(crate) fn clear(self) {
        self.word(Self::KEY).store(0, Ordering::Relaxed);
        self.word(Self::VALUE).store(0, Ordering::Relaxed);
    }

    /// Claims it for a marking; false if that has claimed it before, as several markers may, and those that scan an object
    /// again.
    pub(super) fn claim(self, marking: usize) -> bool {
        let claim = self.word(Self::CLAIM);
        let now = claim.load(Ordering::Relaxed);
        now != marking && claim.compare_exchange(now, marking, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The next on its list, if it has one.
    pub(super) fn next(self) -> Option<Ephemeron> {
        Ephemeron::listed(self.word(Self::LINK).load(Ordering::Relaxed))
    }

    pub(super) fn set_next(self, next: Option<Ephemeron>) {
        self.word(Self::LINK).store(next.map_or(0, |next| next.0), Ordering::Relaxed);
    }

    /// The one of which a list has kept the address.
    pub(super) fn listed(address: usize) -> Option<Ephemeron> {
        (address != 0).then_some(Ephemeron(address))
    }
}

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
