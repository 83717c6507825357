//! The heaps of the process in verify mode, by their addresses: where a program reads an object through a pointer alone, no heap is at
//! hand. Invariant: an entry's heap exists as long as the entry has its addresses, and a reader of another heap's addresses never touches it.

use crate::state::{FreedBy, State, TypeName};
use core::fmt;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use heapwood_heap::{Address, CLOBBER};
use heapwood_os::diagnose::message::report;

/// Objects of further heaps are not looked at when they are read.
const MOST: usize = 64;
/// Fields of an object lie within so many bytes of its address, as far as faults are explained.
const FIELDS: usize = 1 << 12;

/// The heaps in verify mode.
pub(crate) struct CheckedHeaps {
    entries: [Checked; MOST],
    count: AtomicUsize,
}

impl CheckedHeaps {
    pub(super) const fn none() -> Self {
        CheckedHeaps { entries: [const { Checked::none() }; MOST], count: AtomicUsize::new(0) }
    }

    /// A heap in verify mode begins; `state` stays in place until [`end`](Self::end) is called.
    pub(crate) fn begin(&self, state: &State) {
        let space = state.space();
        let base = space.base().get();
        for entry in &self.entries {
            // 1 is nobody's address.
            if entry.base.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                entry.state.store(core::ptr::from_ref(state).cast_mut(), Ordering::Release);
                entry.bytes.store(space.reservation_bytes(), Ordering::Release);
                entry.base.store(base, Ordering::Release);
                self.count.fetch_add(1, Ordering::Release);
                return;
            }
        }
    }

    /// The heap ends.
    pub(crate) fn end(&self, state: &State) {
        let base = state.space().base().get();
        for entry in self.entries.iter().filter(|entry| entry.base.load(Ordering::Relaxed) == base) {
            entry.bytes.store(0, Ordering::Release);
            entry.base.store(0, Ordering::Release);
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether there are any.
    #[inline(always)]
    pub(super) fn are_there(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Whether an address lies in one of them.
    pub(super) fn have(&self, address: usize) -> bool {
        self.entries.iter().any(|heap| heap.heap_of(address).is_some())
    }

    /// Explains a fault of a thread that has taken what fills freed memory for an address, by its registers.
    pub(super) fn explain_fault(&self, address: usize, mut registers: impl Iterator<Item = usize>) -> bool {
        const FILLED: usize = usize::from_ne_bytes([CLOBBER; size_of::<usize>()]);
        // The kernel does not tell addresses that no process has.
        let is_near = |at: usize| at.abs_diff(FILLED) < FIELDS;
        let is_followed = (address == 0 || is_near(address)) && registers.any(is_near);
        if self.are_there() && is_followed {
            report(format_args!(
                "heapwood: verify: a word of freed memory ({FILLED:#x}) is used as an address: the object that held it was freed, and a \
                 pointer to it kept where no collection looks. A debug build (Rust), HW_AT (C) or AddressSanitizer says which object"
            ));
        }
        self.are_there() && is_followed
    }

    /// What is wrong with the address of an object of one of them.
    pub(super) fn stale_pointer(&self, address: Address) -> Option<StalePointer> {
        let state = self.entries.iter().find_map(|heap| heap.heap_of(address.get()))?;
        let by = state.quarantine()?.freed_by(state.space(), address)?;
        let span = state.space().find_span(address)?;
        let name = state.type_name(span, address.get());
        Some(StalePointer { address: address.get(), name, bytes: span.object_bytes(), by })
    }
}

/// One of them.
struct Checked {
    /// 0 if the entry is free.
    base: AtomicUsize,
    bytes: AtomicUsize,
    state: AtomicPtr<State>,
}

impl Checked {
    const fn none() -> Self {
        Checked {
            base: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            state: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Its heap, if the address lies there.
    fn heap_of(&self, address: usize) -> Option<&State> {
        let base = self.base.load(Ordering::Acquire);
        if base == 0 || address.wrapping_sub(base) >= self.bytes.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the heap exists, or the caller uses an object of one that has ended (invariant). If the entry has just become another
        // heap's, which stored its state before its size, that one exists.
        unsafe { self.state.load(Ordering::Acquire).as_ref() }
    }
}

/// A pointer to an object that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StalePointer {
    address: usize,
    name: TypeName,
    bytes: usize,
    by: FreedBy,
}

impl StalePointer {
    /// Who freed the object.
    pub fn by(self) -> FreedBy {
        self.by
    }
}

/// What follows "a pointer to".
impl fmt::Display for StalePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StalePointer { address, name, bytes, by } = self;
        match by {
            FreedBy::Collection(number) => write!(
                f,
                "{name}{bytes} bytes at {address:#x}, that collection {number} freed, since nothing that collections look at led there: keep \
                 it in an object of the heap, in a root, or on the stack of an attached thread"
            ),
            FreedBy::Program => write!(
                f,
                "{name}{bytes} bytes at {address:#x}, that the program has freed: clear all pointers to an object before it is freed"
            ),
        }
    }
}
