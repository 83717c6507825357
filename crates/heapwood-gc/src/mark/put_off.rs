//! Calls that a trace function has put off: of itself, for another address or with another word. They are made when the function
//! has returned, one after another, so that a chain of calls takes no stack, however long. libgc's mark procedures return such
//! entries. Invariant: none is left when the object that they came from has been scanned, and none is lost: no other work can
//! take their place, so without memory for them the process ends.

use core::ops::Range;
use heapwood_os::diagnose::message::write_line;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray};

/// The most calls that wait: 96 MiB of addresses, which are reserved when the first is put off; fewer where these are short.
const MOST: usize = 1 << 22;
const LEAST: usize = 1 << 14;
/// They are committed in steps that double, from this one on.
const FIRST: usize = 1 << 9;

/// A call that waits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Call {
    pub(super) object: usize,
    pub(super) size: usize,
    pub(super) data: usize,
}

// SAFETY: plain numbers, valid with any value.
unsafe impl Zeroed for Call {}

/// The calls that one trace function has put off.
pub(super) struct PutOff {
    kernel: KernelRef,
    calls: Option<MappedArray<Call>>,
    len: usize,
    committed: usize,
}

impl PutOff {
    /// None, and no memory yet.
    pub(super) fn new(kernel: KernelRef) -> Self {
        PutOff { kernel, calls: None, len: 0, committed: 0 }
    }

    /// Puts a call off.
    pub(super) fn push(&mut self, call: Call) {
        if self.len == self.committed {
            self.grow();
        }
        let calls = self.calls.as_ref().expect("made by grow");
        // SAFETY: it is committed.
        unsafe { calls.at(self.len).write(call) };
        self.len += 1;
    }

    /// The call that was put off last.
    pub(super) fn pop(&mut self) -> Option<Call> {
        let calls = self.calls.as_ref()?;
        self.len = self.len.checked_sub(1)?;
        // SAFETY: a push wrote it.
        Some(unsafe { calls.at(self.len).read() })
    }

    #[cold]
    fn grow(&mut self) {
        if self.calls.is_none() {
            let mut most = MOST;
            self.calls = loop {
                match MappedArray::new(self.kernel, most) {
                    Err(_) if most > LEAST => most /= 4,
                    made => break made.ok(),
                }
            };
        }
        let grown = self.calls.as_ref().and_then(|calls| {
            let end = (self.committed * 2).max(FIRST).min(calls.len());
            (end > self.committed && calls.commit(self.committed..end).is_ok()).then_some(end)
        });
        match grown {
            Some(end) => self.committed = end,
            None => {
                write_line(format_args!(
                    "heapwood: a trace function has put {} calls off, and there is no memory for more: let it report pointers \
                     before it puts calls off, or raise the limit of the process's memory",
                    self.len
                ));
                std::process::abort();
            }
        }
    }

    /// Gives the memory back after many.
    pub(super) fn trim(&mut self) {
        debug_assert!(self.len == 0);
        if self.committed > LEAST {
            (self.calls, self.committed) = (None, 0);
        }
    }
}

impl Mapped for PutOff {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.calls.for_each_mapping(f);
    }
}
