//! Stacks that threads switch to and back from, such as those of fibers and coroutines. Each is registered with its
//! heap. The collector scans it from the place where it was left, or where the thread on it was stopped. At most one
//! thread at a time is on a stack.
//!
//! Invariants: a record stays readable as long as its heap. So a thread that remembers a removed stack finds a range,
//! perhaps of another stack, that does not hold its stack pointer. A removed record covers no address.

use super::words_in_use::WordsInUse;
use crate::error::Refusal;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray};

/// The most stacks: their records reserve 64 MiB of addresses, once there is one.
const MOST: usize = 1 << 20;
/// Records are committed in steps of this size.
const STEP: usize = 64;

/// One stack.
#[repr(C)]
pub(super) struct OtherStack {
    low: AtomicUsize,
    /// One past the highest address; 0 while the record is free.
    high: AtomicUsize,
    in_use: WordsInUse,
    /// The pointer of the thread that is on it, or is about to be; 0 for none.
    thread: AtomicUsize,
    /// The next free record.
    next: *const OtherStack,
}

// SAFETY: all-zero bytes are a free record; it holds plain numbers.
unsafe impl Zeroed for OtherStack {}

/// Names a stack of a heap until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackRef(NonNull<OtherStack>);

// SAFETY: it leads to atomics, and to cells that only the thread on the stack uses, or a collector that has stopped
// that thread.
unsafe impl Send for StackRef {}
// SAFETY: as above.
unsafe impl Sync for StackRef {}

impl StackRef {
    /// The name as an address, for clients that cannot keep the type.
    pub fn to_address(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// The name that [`to_address`](Self::to_address) gave.
    ///
    /// # Safety
    /// 1. `to_address` gave it, and the heap exists as long as the result is used.
    pub unsafe fn from_address(address: NonNull<u8>) -> Self {
        StackRef(address.cast())
    }

    /// # Safety
    /// 1. The heap exists.
    pub(super) unsafe fn record<'h>(self) -> &'h OtherStack {
        // SAFETY: records stay committed as long as their heap.
        unsafe { self.0.as_ref() }
    }
}

impl OtherStack {
    pub(super) fn contains(&self, pointer: usize) -> bool {
        self.range().contains(&pointer)
    }

    /// Its addresses; empty if it was removed.
    pub(super) fn range(&self) -> Range<usize> {
        self.low.load(Ordering::Relaxed)..self.high.load(Ordering::Relaxed)
    }

    pub(super) fn in_use(&self) -> &WordsInUse {
        &self.in_use
    }

    /// Enters the stack for a thread that is about to switch to it.
    pub(super) fn enter(&self, thread: usize) -> Result<(), Refusal> {
        if self.high.load(Ordering::Relaxed) == 0 {
            return Err(Refusal::StackRemoved);
        }
        match self.thread.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::StackInUse),
        }
    }

    /// Leaves the stack, if the thread was on it.
    pub(super) fn leave(&self, thread: usize) {
        let _ = self.thread.compare_exchange(thread, 0, Ordering::Release, Ordering::Relaxed);
    }
}

/// The stacks of one heap.
pub(crate) struct OtherStacks {
    kernel: KernelRef,
    records: Option<MappedArray<OtherStack>>,
    committed: usize,
    used: usize,
    free: *const OtherStack,
}

// SAFETY: the pointers lead to its own records, and are followed under its lock.
unsafe impl Send for OtherStacks {}

impl OtherStacks {
    pub(super) fn new(kernel: KernelRef) -> Self {
        OtherStacks { kernel, records: None, committed: 0, used: 0, free: core::ptr::null() }
    }

    /// A free record.
    fn take(&mut self) -> Result<NonNull<OtherStack>, Refusal> {
        if let Some(free) = NonNull::new(self.free.cast_mut()) {
            // SAFETY: records stay committed, and only the table uses free ones.
            self.free = unsafe { free.as_ref() }.next;
            return Ok(free);
        }
        if self.records.is_none() {
            let mut most = MOST;
            let records = loop {
                match MappedArray::new(self.kernel, most) {
                    Err(_) if most > STEP => most /= 4,
                    done => break done?,
                }
            };
            self.records = Some(records);
        }
        let records = self.records.as_ref().expect("made above");
        if self.used == records.len() {
            return Err(Refusal::ManyStacks { most: records.len() });
        }
        if self.used == self.committed {
            let end = (self.committed + STEP).min(records.len());
            records.commit(self.committed..end)?;
            self.committed = end;
        }
        self.used += 1;
        // SAFETY: the array is mapped, so no place in it is null.
        Ok(unsafe { NonNull::new_unchecked(records.at(self.used - 1)) })
    }

    /// Registers a stack without words in use.
    pub(crate) fn add(&mut self, range: Range<usize>) -> Result<StackRef, Refusal> {
        let record = self.take()?;
        // SAFETY: only the table uses the record until its name is given away; a thread that remembers it from before
        // reads only the bounds, which are atomics.
        unsafe {
            let record = record.as_ptr();
            (*record).in_use.clear(range.end);
            (*record).thread.store(0, Ordering::Relaxed);
            (*record).low.store(range.start, Ordering::Relaxed);
            (*record).high.store(range.end, Ordering::Relaxed);
        }
        Ok(StackRef(record))
    }

    /// Removes a stack: it is not scanned any more.
    ///
    /// # Errors
    /// A thread is on it, or it was removed before.
    pub(crate) fn remove(&mut self, stack: StackRef) -> Result<(), Refusal> {
        // SAFETY: the table's lock is held, so the heap exists.
        let record = unsafe { stack.record() };
        if record.high.load(Ordering::Relaxed) == 0 {
            return Err(Refusal::StackRemoved);
        }
        if record.thread.load(Ordering::Acquire) != 0 {
            return Err(Refusal::StackInUse);
        }
        record.high.store(0, Ordering::Relaxed);
        record.low.store(0, Ordering::Relaxed);
        // SAFETY: the record is free, and the table's lock is held.
        unsafe { (*stack.0.as_ptr()).next = self.free };
        self.free = stack.0.as_ptr();
        Ok(())
    }

    /// Calls `f` with the words in use of each stack; all threads are stopped.
    pub(super) fn for_each(&self, mut f: impl FnMut(Range<usize>)) {
        let Some(records) = &self.records else { return };
        for index in 0..self.used {
            // SAFETY: records in use are committed.
            let record = unsafe { &*records.at(index) };
            let high = record.high.load(Ordering::Relaxed);
            if high != 0 {
                f(record.in_use.lowest()..high);
            }
        }
    }

    /// In a forked child: takes all threads but the one with this pointer off their stacks.
    pub(crate) fn forget_threads_but(&self, thread: usize) {
        let Some(records) = &self.records else { return };
        for index in 0..self.used {
            // SAFETY: records in use are committed.
            let record = unsafe { &*records.at(index) };
            if record.thread.load(Ordering::Relaxed) != thread {
                record.thread.store(0, Ordering::Relaxed);
                record.in_use.go_on_from(record.in_use.lowest());
            }
        }
    }
}

impl Mapped for OtherStacks {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.records.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;

    fn in_use(stacks: &OtherStacks) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        stacks.for_each(|words| all.push(words));
        all
    }

    #[test]
    fn stacks_come_and_go_and_are_one_threads_at_a_time() {
        let mut stacks = OtherStacks::new(&SYSTEM);
        let all: Vec<_> = (1..=200).map(|i| stacks.add(i * 0x1000..i * 0x1000 + 0x800).unwrap()).collect();
        assert!(in_use(&stacks).iter().all(Range::is_empty));
        // SAFETY: the table exists.
        let record = |i: usize| unsafe { all[i].record() };
        assert_eq!(record(3).enter(7), Ok(()));
        assert_eq!([record(3).enter(7), record(3).enter(8)], [Err(Refusal::StackInUse); 2]);
        assert_eq!(stacks.remove(all[3]), Err(Refusal::StackInUse));
        record(3).in_use().suspend_at(0x4100);
        record(3).leave(8);
        assert_eq!(stacks.remove(all[3]), Err(Refusal::StackInUse), "another thread's leaving means nothing");
        record(3).leave(7);
        assert_eq!(in_use(&stacks)[3], 0x4100..0x4800);
        record(3).in_use().stop_at(0x4200);
        assert_eq!(in_use(&stacks)[3], 0x4200..0x4800);
        record(3).in_use().go_on_from(0x4240);
        assert_eq!(in_use(&stacks)[3], 0x4200..0x4800, "another thread was stopped there");
        record(3).in_use().go_on_from(0x4200);
        assert_eq!(in_use(&stacks)[3], 0x4100..0x4800);
        assert_eq!(stacks.remove(all[3]), Ok(()));
        assert_eq!([stacks.remove(all[3]), record(3).enter(7)], [Err(Refusal::StackRemoved); 2]);
        assert_eq!(in_use(&stacks).len(), 199);
        assert_eq!(stacks.add(0x10..0x20).unwrap(), all[3], "the record is used again");
    }
}
