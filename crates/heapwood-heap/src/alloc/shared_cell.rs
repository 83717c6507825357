//! A cell that one thread changes and others may load at any time: a cursor, which the inline fast path moves by a plain
//! store. Invariant: to its owner it is a [`Cell`], so its machine code is one; others load it as an atomic word. By the
//! language's rules that is a race; processors load and store an aligned word whole (docs/design/memory-order.md). Under loom
//! it is an atomic word for both, which a model can watch, and under ThreadSanitizer, too, which would report each load.

#[cfg(not(any(loom, heapwood_tsan)))]
use core::cell::Cell;
use core::sync::atomic::Ordering;
use heapwood_os::threads::watched::AtomicUsize;
#[cfg(all(test, loom))]
use heapwood_os::threads::watched::Watch;

/// The cell.
#[repr(transparent)]
pub(super) struct SharedCell(
    #[cfg(not(any(loom, heapwood_tsan)))] Cell<usize>,
    #[cfg(any(loom, heapwood_tsan))] AtomicUsize,
);

#[cfg(not(any(loom, heapwood_tsan)))]
impl SharedCell {
    /// Its owner's value.
    #[inline(always)]
    pub(super) fn get(&self) -> usize {
        self.0.get()
    }

    /// Its owner stores a value.
    #[inline(always)]
    pub(super) fn set(&self, value: usize) {
        self.0.set(value);
    }

    #[inline(always)]
    fn atomic(&self) -> &AtomicUsize {
        // SAFETY: the cell has the size and the alignment of the atomic word, and lives as long as the result.
        unsafe { AtomicUsize::from_ptr(self.0.as_ptr()) }
    }
}

#[cfg(any(loom, heapwood_tsan))]
impl SharedCell {
    pub(super) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }

    fn atomic(&self) -> &AtomicUsize {
        &self.0
    }

    #[cfg(all(test, loom))]
    pub(super) fn watch(&self, watch: &Watch) {
        watch.add(&self.0);
    }
}

impl SharedCell {
    /// Its owner stores a value, after all that it did before.
    #[inline]
    pub(super) fn release(&self, value: usize) {
        self.atomic().store(value, Ordering::Release);
    }

    /// Another thread's load: it sees what the owner did before it [released](Self::release) the value, and before the last
    /// [`publish`](crate::publication::publish) that came before the value.
    pub(super) fn observe(&self) -> usize {
        self.atomic().load(Ordering::Acquire)
    }
}
