//! Publication: what a new object rests on is seen by the thread that finds a pointer to it. Three orders give that:
//!
//! 1. Before a run of cells, a freed cell, a large object or a chunk of an arena is handed out, [`publish`] puts all that the
//!    heap has written for it (its span and page table entries, its age, its layout, its zeros) before all that its thread stores
//!    later, a pointer to the new object among that. So one barrier serves a run, and a collector that meets the pointer, even one that
//!    was stored plainly, knows the object.
//! 2. What the program writes into an object comes before the pointer by which another thread may find it: every store of a pointer
//!    into an object that exists is a release ([`store`]), and a thread loads it as an acquire, or follows it, which aarch64 orders
//!    by the dependency of addresses.
//! 3. What the heap itself looks up about a pointer that a program gives it comes after that was loaded, however it was ([`observe`]):
//!    not all of it depends on the address.
//!
//! x86-64 keeps stores in order, and loads, so there none of it is an instruction. Invariant: nothing is handed out but behind a
//! [`publish`]. Go has the barrier in each allocation (golang/go#69224 tells what that costs): docs/design/publication.md.

use core::sync::atomic::{AtomicUsize, Ordering};

/// What is stored above is seen before what is stored below.
#[inline(always)]
pub fn publish() {
    #[cfg(loom)]
    if mutant::is(mutant::NO_BARRIER) {
        return;
    }
    #[cfg(all(target_arch = "aarch64", not(loom), not(miri)))]
    // Stores alone need be ordered; a release fence would wait for loads, too (`dmb ish`).
    // SAFETY: a barrier changes no memory and no register, and the compiler moves no access over it.
    unsafe {
        core::arch::asm!("dmb ishst", options(nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    core::sync::atomic::compiler_fence(Ordering::Release);
    #[cfg(any(loom, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    heapwood_os::sync::fence(Ordering::Release);
}

/// What a program has written into an object is before the store that makes it exist, for a signal that stops its thread: no
/// instruction.
#[inline(always)]
pub fn publish_object() {
    core::sync::atomic::compiler_fence(Ordering::Release);
}

/// Pointers that the thread has loaded above, plainly perhaps, were loaded before what is loaded below.
#[inline(always)]
pub fn observe() {
    #[cfg(loom)]
    if mutant::is(mutant::NOT_OBSERVED) {
        return;
    }
    heapwood_os::sync::fence(Ordering::Acquire);
}

/// A word that holds a pointer and that threads share.
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

/// Stores a pointer where other threads may find it: who does sees what the object holds.
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

/// What loom's models try to leave out, which they must notice.
#[cfg(loom)]
pub(crate) mod mutant {
    use core::sync::atomic::{AtomicU8, Ordering};

    pub(crate) const NO_BARRIER: u8 = 1;
    pub(crate) const PLAIN_STORE: u8 = 2;
    pub(crate) const NOT_OBSERVED: u8 = 3;
    /// A process has one model with a mutant, or none.
    pub(crate) static LEFT_OUT: AtomicU8 = AtomicU8::new(0);

    pub(super) fn is(mutant: u8) -> bool {
        LEFT_OUT.load(Ordering::Relaxed) == mutant
    }
}

#[cfg(loom)]
impl Slot for heapwood_os::sync::AtomicUsize {
    fn put(&self, value: usize, order: Ordering) {
        self.store(value, order);
    }
    fn take(&self, order: Ordering) -> usize {
        self.load(order)
    }
}
