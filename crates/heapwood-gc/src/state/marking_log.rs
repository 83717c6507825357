//! Messages of mutators to a concurrent full marking: shaded objects, which it still has to scan, and objects that the
//! program has freed meanwhile, which it may have to scan. Both are lists behind one lock: an object is shaded once in
//! a marking, and freeing takes locks anyway. Invariant: a shaded object is marked, and is on the list or was taken off
//! it, or `missed` is set; then the marking scans all marked objects again.

use crate::lock_order::{MARKING_LOG, TRACE_TURN};
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_heap::ObjectRef;
use heapwood_os::KernelRef;
use heapwood_os::OsError;
use heapwood_os::{ForkLock, Lock, LockGuard, MappedArray};

/// Entries that are committed at a time.
const STEP: usize = 8192;

/// Addresses in mapped memory, committed as the list grows.
struct LogList {
    memory: MappedArray<usize>,
    len: usize,
    committed: usize,
}

impl LogList {
    fn new(kernel: KernelRef, most: usize) -> Result<Self, OsError> {
        Ok(LogList { memory: MappedArray::new(kernel, most.max(1))?, len: 0, committed: 0 })
    }

    /// The place of the next entry, if there is room.
    fn room(&mut self) -> Option<*mut usize> {
        let more = self.memory.len().min(self.committed + STEP);
        if self.len == self.committed && self.memory.commit(self.committed..more).is_ok() {
            self.committed = more;
        }
        (self.len < self.committed).then(|| self.memory.at(self.len))
    }

    /// Adds an address at `room`.
    fn push(&mut self, room: *mut usize, address: usize) {
        // SAFETY: `room` lies below the committed end.
        unsafe { room.write(address) };
        self.len += 1;
    }

    fn pop(&mut self) -> Option<usize> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: it was pushed.
        Some(unsafe { self.memory.at(self.len).read() })
    }
}

/// The lists of a marking.
struct LogLists {
    shaded: LogList,
    freed: LogList,
}

/// Messages of mutators to a marking; no lists while there is none.
pub(crate) struct MarkingLog {
    lists: Lock<Option<LogLists>, MARKING_LOG>,
    /// The list lacks shaded objects.
    missed: AtomicBool,
    /// Held by the mutator that runs a trace function for its barrier.
    tracing: Lock<(), TRACE_TURN>,
}

impl MarkingLog {
    pub(crate) fn new() -> Self {
        MarkingLog { lists: Lock::new(None), missed: AtomicBool::new(false), tracing: Lock::new(()) }
    }

    /// The lock of the lists, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.lists
    }

    /// Adds a shaded object, which the marking has to scan.
    pub(crate) fn shaded(&self, object: usize) {
        let mut lists = self.lists.lock();
        let shaded = lists.as_mut().map(|lists| &mut lists.shaded);
        match shaded.and_then(|shaded| Some((shaded.room()?, shaded))) {
            Some((room, shaded)) => shaded.push(room, object),
            None => self.missed.store(true, Ordering::Relaxed),
        }
    }

    /// Frees an object by `free` and notes it. Without room to note it, it does nothing: the collector will free the
    /// object.
    pub(crate) fn free<E>(&self, object: usize, free: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut lists = self.lists.lock();
        let freed = lists.as_mut().map(|lists| &mut lists.freed);
        if let Some((room, freed)) = freed.and_then(|freed| Some((freed.room()?, freed))) {
            free()?;
            freed.push(room, object);
        }
        Ok(())
    }

    /// The turn to run a trace function for the barrier.
    pub(crate) fn turn(&self) -> LockGuard<'_, (), TRACE_TURN> {
        self.tracing.lock()
    }
}

impl MarkingLog {
    /// Begins a marking, with lists of `shaded` and `freed` objects.
    pub(crate) fn begin(&self, kernel: KernelRef, shaded: usize, freed: usize) -> Result<(), OsError> {
        let lists = LogLists { shaded: LogList::new(kernel, shaded)?, freed: LogList::new(kernel, freed)? };
        *self.lists.lock() = Some(lists);
        Ok(())
    }

    /// Takes a shaded object that is still to be scanned.
    pub(crate) fn next_shaded(&self) -> Option<usize> {
        self.lists.lock().as_mut()?.shaded.pop()
    }

    /// Whether the list has missed shaded objects since the last call.
    pub(crate) fn take_missed(&self) -> bool {
        self.missed.swap(false, Ordering::Relaxed)
    }

    /// Ends the marking: calls `f` with each object that was freed. Mutators are stopped.
    pub(crate) fn end(&self, mut f: impl FnMut(ObjectRef)) {
        if let Some(mut lists) = self.lists.lock().take() {
            while let Some(object) = lists.freed.pop() {
                f(ObjectRef::new(object));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;
    use heapwood_os::testing::faulty::Faulty;

    #[test]
    fn what_is_shaded_comes_once_and_what_has_no_room_is_missed() {
        let log = MarkingLog::new();
        log.shaded(16);
        assert!(log.take_missed(), "there is no list");
        log.begin(&SYSTEM, STEP + 1, 1).unwrap();
        (1..=STEP + 1).for_each(|i| log.shaded(i * 16));
        assert!(!log.take_missed());
        log.shaded(8);
        assert!(log.take_missed() && !log.take_missed());
        (1..=STEP + 1).rev().for_each(|i| assert_eq!(log.next_shaded(), Some(i * 16)));
        assert_eq!(log.next_shaded(), None);
    }

    #[test]
    fn what_is_freed_is_told_at_the_end_unless_it_was_refused_or_there_was_no_room() {
        static KERNEL: Faulty = Faulty::new();
        let log = MarkingLog::new();
        log.begin(&KERNEL, 1, 3).unwrap();
        KERNEL.refuse(0);
        let mut freed = Vec::new();
        for i in 1..6 {
            let done = log.free(i * 16, || {
                freed.push(i * 16);
                if i == 3 { Err(freed.pop()) } else { Ok(()) }
            });
            assert_eq!(done.is_err(), i == 3);
        }
        // The kernel had no memory for the first.
        assert_eq!(freed, [32, 64, 80]);
        let mut told = Vec::new();
        log.end(|object| told.push(object.get()));
        told.sort_unstable();
        assert_eq!(told, freed);
        log.end(|_| panic!("it has ended"));
    }
}
