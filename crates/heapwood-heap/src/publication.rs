//! Publication: a thread that finds a pointer to a new object also sees the state that the object rests on. Three
//! orders ensure it:
//!
//! 1. Before a run of cells, a freed cell, a large object or an arena chunk is allocated, [`publish`] orders all that
//!    the heap has written for it (its span and page table entries, its age, its layout, its zeros) before all later
//!    stores of the thread, a pointer to the new object among them. One barrier thus serves a whole run, and a
//!    collector that meets the pointer knows the object, even if the pointer was stored plainly.
//! 2. The program's writes into an object come before the pointer by which another thread may find it. Every store of a
//!    pointer into an existing object is a release ([`store`]). A thread loads it as an acquire, or follows it; aarch64
//!    orders the latter by the address dependency.
//! 3. The heap's own lookups about a pointer that a program passes come after the load of that pointer, however it was
//!    loaded ([`observe`]): not all of them depend on the address.
//!
//! x86-64 orders stores with stores and loads with loads, so none of these is an instruction there. Invariant: nothing
//! is allocated without a [`publish`] before. Go has the barrier in each allocation (golang/go#69224 has the cost):
//! docs/design/publication.md.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Orders all stores above before all stores below.
#[inline(always)]
pub fn publish() {
    #[cfg(loom)]
    if mutant::is(mutant::NO_BARRIER) {
        return;
    }
    #[cfg(all(target_arch = "aarch64", not(loom), not(miri)))]
    // Only stores must be ordered; a release fence would wait for loads, too (`dmb ish`).
    // SAFETY: a barrier changes no memory and no register, and the compiler moves no access over it.
    unsafe {
        core::arch::asm!("dmb ishst", options(nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    core::sync::atomic::compiler_fence(Ordering::Release);
    #[cfg(any(loom, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    heapwood_os::threads::sync::fence(Ordering::Release);
}

/// Orders the program's writes into an object before the store that makes it exist, as a signal that stops the thread
/// sees it. No instruction.
#[inline(always)]
pub fn publish_object() {
    core::sync::atomic::compiler_fence(Ordering::Release);
}

/// Orders earlier loads of pointers, even plain ones, before all loads below.
#[inline(always)]
pub fn observe() {
    #[cfg(loom)]
    if mutant::is(mutant::NOT_OBSERVED) {
        return;
    }
    heapwood_os::threads::sync::fence(Ordering::Acquire);
}

/// A word with a pointer that threads share.
pub trait Slot {
    /// Stores in this order.
    fn put(&self, value: usize, order: Ordering);
    /// Loads in this order.
    fn take(&self, order: Ordering) -> usize;
}

impl Slot for AtomicUsize {
    #[inline(always)]
    fn put(&self, value: usize, order: Ordering) {
        self.store(value, order);
    }
    #[inline(always)]
    fn take(&self, order: Ordering) -> usize {
        self.load(order)
    }
}

/// Stores a pointer where other threads may find it; a thread that does sees the object's contents.
#[inline(always)]
pub fn store(slot: &impl Slot, value: usize) {
    #[cfg(loom)]
    if mutant::is(mutant::PLAIN_STORE) {
        return slot.put(value, Ordering::Relaxed);
    }
    slot.put(value, Ordering::Release);
}

/// Loads a pointer that another thread may have stored.
#[inline(always)]
pub fn load(slot: &impl Slot) -> usize {
    slot.take(Ordering::Acquire)
}

/// The orders that loom's models leave out one at a time, which they must notice.
#[cfg(loom)]
pub(crate) mod mutant {
    use core::sync::atomic::{AtomicU8, Ordering};

    pub(crate) const NO_BARRIER: u8 = 1;
    pub(crate) const PLAIN_STORE: u8 = 2;
    pub(crate) const NOT_OBSERVED: u8 = 3;
    /// The entries of a new span of cells are written later, by the model.
    pub(crate) const ENTRY_LATE: u8 = 4;
    pub(crate) const PLAIN_ENTRY: u8 = 5;
    pub(crate) const BIT_UNORDERED: u8 = 6;
    /// The bits of freed cells go before a buffer has them.
    pub(crate) const TAKEN_FIRST: u8 = 7;
    /// A buffer's new span is not counted as a move.
    pub(crate) const SPAN_UNCOUNTED: u8 = 8;
    /// A process has one model with a mutant, or none.
    pub(crate) static LEFT_OUT: AtomicU8 = AtomicU8::new(0);

    pub(crate) fn is(mutant: u8) -> bool {
        LEFT_OUT.load(Ordering::Relaxed) == mutant
    }
}

#[cfg(loom)]
impl Slot for heapwood_os::threads::sync::AtomicUsize {
    fn put(&self, value: usize, order: Ordering) {
        self.store(value, order);
    }
    fn take(&self, order: Ordering) -> usize {
        self.load(order)
    }
}

#[cfg(loom)]
impl Slot for heapwood_os::threads::watched::AtomicUsize {
    fn put(&self, value: usize, order: Ordering) {
        self.store(value, order);
    }
    fn take(&self, order: Ordering) -> usize {
        self.load(order)
    }
}
