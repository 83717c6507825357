//! The stack that a mark procedure pushes onto, in the convention of libgc: the procedure gets a pointer to the topmost entry, and
//! the end of the stack, and returns the new top. The stack is the call's own, short, and lies in the caller's frame. Entries
//! are decoded when the procedure has returned, or when whoever pushes for it finds no room: so there are as many as it likes.
//! Invariant: entries that were pushed are decoded once.

use super::tracer::Tracer;
use core::mem::MaybeUninit;

/// An entry, whose meaning is the client's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MarkEntry {
    /// An address.
    pub start: usize,
    /// What lies there.
    pub descriptor: usize,
}

/// The stack of one call of a mark procedure.
pub struct ProcedureStack<'t, 'a, D> {
    tracer: &'t mut Tracer<'a>,
    decode: D,
    /// The first is never used: the top of an empty stack points there.
    entries: [MaybeUninit<MarkEntry>; MOST_ENTRIES + 1],
}

/// The most entries at a time.
const MOST_ENTRIES: usize = 512;

impl<'t, 'a, D: FnMut(&mut Tracer<'a>, MarkEntry)> ProcedureStack<'t, 'a, D> {
    /// An empty stack. `decode` reports what an entry stands for.
    pub fn new(tracer: &'t mut Tracer<'a>, decode: D) -> Self {
        ProcedureStack { tracer, decode, entries: [const { MaybeUninit::uninit() }; MOST_ENTRIES + 1] }
    }

    /// The top of the empty stack. A push adds one to the top, and writes there.
    pub fn bottom(&mut self) -> *mut MarkEntry {
        self.entries.as_mut_ptr().cast()
    }

    /// One past the last place.
    pub fn limit(&mut self) -> *mut MarkEntry {
        self.entries.as_mut_ptr_range().end.cast()
    }

    /// Decodes the entries up to `top`, and returns the top of the stack, which is empty then.
    ///
    /// # Panics
    /// The top is not one of this stack.
    ///
    /// # Safety
    /// 1. All entries from [`ProcedureStack::bottom`], which itself is none, up to `top`, which is one, were written since the
    ///    last call.
    pub unsafe fn flush(&mut self, top: *mut MarkEntry) -> *mut MarkEntry {
        let bytes = (top as usize).wrapping_sub(self.bottom() as usize);
        let count = bytes / size_of::<MarkEntry>();
        assert!(
            bytes.is_multiple_of(size_of::<MarkEntry>()) && count <= MOST_ENTRIES,
            "the top left the stack"
        );
        for entry in &self.entries[1..=count] {
            // SAFETY: contract 1.
            (self.decode)(self.tracer, unsafe { entry.assume_init() });
        }
        self.bottom()
    }
}
