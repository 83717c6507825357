//! Memory outside the heap in which a program may have left pointers by mistake, such as the blocks of its ordinary allocator: in verify
//! mode it is searched for words that lead to what a collection has just found dead. Who knows such memory registers itself; this
//! file only tells which words lead where. So a lost pointer is named in the collection that loses its object, and not where the
//! object's memory is used again.
//! Invariant: it changes nothing, and an address is found only in the collection in which its object dies.

use super::births::{Births, Told};
use super::forgotten::Forgotten;
use super::reports::Reports;
use crate::pause::Pause;
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Who knows memory that no collection looks at.
///
/// # Safety
/// 1. `search` runs while threads are stopped, perhaps inside the ordinary allocator: it takes no lock that a thread may hold outside of a
///    no-preempt region, calls no ordinary allocator, uses no heap, and does not unwind.
pub unsafe trait OutsideMemory: Sync {
    /// Looks for words that lead to dead objects, and reports them. It is called in each pause in which objects die, with the
    /// mutators stopped; threads that are not attached, or in blocking regions, run.
    fn search(&self, dead: &DeadObjects<'_>);
}

/// Such a trait object behind one word, which is set while collections run.
pub(super) struct Outside(AtomicPtr<&'static dyn OutsideMemory>);

impl Outside {
    pub(super) const fn none() -> Self {
        Outside(AtomicPtr::new(core::ptr::null_mut()))
    }

    pub(super) fn set(&self, memory: &'static &'static dyn OutsideMemory) {
        self.0.store(core::ptr::from_ref(memory).cast_mut(), Ordering::Release);
    }

    pub(super) fn get(&self) -> Option<&'static dyn OutsideMemory> {
        // SAFETY: `set` has stored a reference that stays.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }.copied()
    }
}

/// The objects that a collection has just found dead, in its pause.
pub struct DeadObjects<'p> {
    pub(super) forgotten: &'p Forgotten,
    pub(super) births: &'p Births,
    pub(super) reports: &'p Reports,
    pub(super) pause: &'p Pause<'p>,
}

impl<'p> DeadObjects<'p> {
    /// Words outside these addresses lead to none.
    pub fn range(&self) -> Range<usize> {
        let space = self.pause.space();
        space.base().get()..space.base().get() + space.committed_end()
    }

    /// The dead object that a word points to or into.
    #[inline]
    pub fn find(&self, word: usize) -> Option<DeadObject<'p>> {
        let object = self.forgotten.died_at(self.pause, word)?;
        Some(DeadObject { address: object, told: self.births.tell_gone(object)? })
    }

    /// Whether collections look at some of these addresses: at a stack that lies there, in use or not, or a registered range.
    pub fn has_roots(&self, addresses: &Range<usize>) -> bool {
        self.pause.has_roots_in(addresses)
    }

    /// Makes a report of verify mode.
    pub fn say(&self, text: fmt::Arguments<'_>) {
        self.reports.say(text);
    }

    /// Makes the last one, and ends the process.
    pub fn end(&self, text: fmt::Arguments<'_>) -> ! {
        self.reports.end(text)
    }
}

/// One of them. Its text names it: its type, its bytes and where it was made, as far as that was noted.
pub struct DeadObject<'p> {
    address: usize,
    told: Told<'p>,
}

impl DeadObject<'_> {
    /// Its first byte.
    pub fn address(&self) -> usize {
        self.address
    }
}

impl fmt::Display for DeadObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told.fmt(f)
    }
}
