//! The mutators that may have runs of free cells: a list behind the central lock, each linked through its thread cache.
//! Who holds the lock may look at the buffers of those on it, although their threads go on: it asks where a cursor is now.
//! Invariant: a mutator is on the list from before its first run until all its spans have been returned, which takes the
//! lock. So the memory of those on the list is mapped as long as the lock is held.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::Ordering;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::threads::watched::AtomicU32;

/// A mutator's place on the list.
pub(crate) struct RunOwner {
    /// The address of its first allocation buffer; 0 while it is not on the list.
    buffers: Cell<usize>,
    previous: Cell<*const RunOwner>,
    next: Cell<*const RunOwner>,
    /// Twice the spans and runs of freed cells that its buffers have got; one more while one gets such.
    moves: AtomicU32,
}

// SAFETY: all-zero bytes are a mutator on no list.
unsafe impl Zeroed for RunOwner {}

impl RunOwner {
    /// Whether it is on the list. The caller is the mutator's thread, or has stopped it, or holds the lock.
    #[inline(always)]
    pub(crate) fn is_listed(&self) -> bool {
        self.buffers.get() != 0
    }

    /// The address of its first allocation buffer. The caller holds the lock.
    pub(crate) fn buffers(&self) -> usize {
        self.buffers.get()
    }

    /// Calls `give`, which gives one of its buffers a span, by stores that release, or a run of freed cells, with a fence before
    /// its stores ([`publish`](crate::publication::publish)). Its thread calls this.
    #[inline(always)]
    pub(crate) fn with_move(&self, give: impl FnOnce()) {
        let before = self.moves.load(Ordering::Relaxed);
        self.moves.store(before.wrapping_add(1), Ordering::Relaxed);
        give();
        self.moves.store(before.wrapping_add(2), Ordering::Release);
    }

    /// Has a model watch the count.
    #[cfg(all(test, loom))]
    pub(crate) fn watch(&self, watch: &heapwood_os::threads::watched::Watch) {
        watch.add(&self.moves);
    }

    /// Twice the spans and runs of freed cells that its buffers have got; odd while one gets such.
    pub(crate) fn moves(&self) -> u32 {
        self.moves.load(Ordering::Acquire)
    }
}

/// The list.
pub(crate) struct RunOwners {
    first: *const RunOwner,
}

// SAFETY: the list is behind the central lock, and so are the links and the address of the buffers.
unsafe impl Send for RunOwners {}

impl RunOwners {
    /// The empty list.
    pub(crate) fn none() -> Self {
        RunOwners { first: ptr::null() }
    }

    /// Adds a mutator that is not on the list.
    ///
    /// # Safety
    /// 1. It stays where it is, with its buffers, until it is removed.
    pub(crate) unsafe fn add(&mut self, owner: &RunOwner, buffers: usize) {
        debug_assert!(!owner.is_listed());
        owner.buffers.set(buffers);
        owner.previous.set(ptr::null());
        owner.next.set(self.first);
        // SAFETY: those on the list stay where they are (contract 1).
        if let Some(first) = unsafe { self.first.as_ref() } {
            first.previous.set(owner);
        }
        self.first = owner;
    }

    /// Removes a mutator, if it is on the list.
    pub(crate) fn remove(&mut self, owner: &RunOwner) {
        if !owner.is_listed() {
            return;
        }
        // SAFETY: those on the list stay where they are (contract of `add`).
        let (previous, next) = unsafe { (owner.previous.get().as_ref(), owner.next.get().as_ref()) };
        match previous {
            Some(previous) => previous.next.set(owner.next.get()),
            None => self.first = owner.next.get(),
        }
        if let Some(next) = next {
            next.previous.set(owner.previous.get());
        }
        owner.buffers.set(0);
    }

    /// Those on the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RunOwner> {
        let mut at = self.first;
        core::iter::from_fn(move || {
            // SAFETY: those on the list stay where they are while the lock is held.
            let owner = unsafe { at.as_ref() }?;
            at = owner.next.get();
            Some(owner)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_those_that_were_added_and_not_removed() {
        let owners: Vec<RunOwner> = (0..5)
            .map(|_| RunOwner {
                buffers: Cell::new(0),
                previous: Cell::new(ptr::null()),
                next: Cell::new(ptr::null()),
                moves: AtomicU32::new(0),
            })
            .collect();
        let mut list = RunOwners::none();
        let listed = |list: &RunOwners| list.iter().map(RunOwner::buffers).collect::<Vec<_>>();
        for (index, owner) in owners.iter().enumerate() {
            // SAFETY: `owners` lives longer than the list.
            unsafe { list.add(owner, index + 1) };
        }
        assert_eq!(listed(&list), [5, 4, 3, 2, 1]);
        for (gone, left) in [(2, vec![5, 4, 2, 1]), (4, vec![4, 2, 1]), (0, vec![4, 2])] {
            list.remove(&owners[gone]);
            list.remove(&owners[gone]);
            assert_eq!(listed(&list), left);
        }
        // SAFETY: as above.
        unsafe { list.add(&owners[4], 9) };
        assert_eq!(listed(&list), [9, 4, 2]);
    }
}
