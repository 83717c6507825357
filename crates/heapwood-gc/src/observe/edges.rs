//! The edges of an object, found simply, for verify mode: what its slots hold, what its trace function reports, and what its
//! ambiguous words lead to. Invariant: as for its slots (`slots`), nothing here is the marker's code but the calls of trace functions.

use super::slots::{for_each_slot, shape_of};
use crate::mark::report_edges;
use heapwood_heap::{Address, ScanKind, Space};
use heapwood_layout::WORD;

/// An edge of an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edge {
    /// The value of a pointer slot at an address.
    Slot { at: usize, value: usize },
    /// A report of the object's trace function.
    Traced(usize),
    /// The object that an ambiguous word points to or into.
    Ambiguous(usize),
}

impl Edge {
    /// The address that it leads to.
    pub(super) fn target(self) -> usize {
        match self {
            Edge::Slot { value, .. } | Edge::Traced(value) | Edge::Ambiguous(value) => value,
        }
    }
}

/// Where the word of a slot leads; 0 for a number. In a heap with tags a word without one is the address of an object only where a
/// cell begins, or in an arena. (The marker asks whether the object exists. One that does not is an error, which verify mode is to see.)
pub(super) fn led_to(space: &Space, word: usize) -> usize {
    let tags = space.layouts().tags();
    if !tags.any() {
        return word;
    }
    let (address, is_tagged) = tags.address(word);
    let at = Address::new(address);
    let begins = || space.find_span(at).and_then(|span| span.cell_in(at)) == Some(at);
    let is_one = is_tagged || !space.contains(at) || space.arenas().find_chunk(at).is_some() || begins();
    if is_one { address } else { 0 }
}

/// Calls `f` with each edge of an object, those of its ambiguous words only if `words`. A trace function's ambiguous reports
/// count as its precise ones then. The heap is stopped, and the calling thread registered as one that marks.
pub(super) fn for_each_edge(
    space: &Space,
    (object, bytes): (usize, usize),
    words: bool,
    mut f: impl FnMut(Edge),
) {
    for_each_slot(space, object, bytes, |at| {
        // SAFETY: the slot lies in an object of a stopped heap.
        f(Edge::Slot { at, value: led_to(space, unsafe { (at as *const usize).read() }) });
    });
    let resolve = |word: usize| {
        let found = if words { space.find(Address::new(word)) } else { None };
        found.map(|found| found.base.get())
    };
    let Some(shape) = shape_of(space, object) else { return };
    match shape.kind() {
        ScanKind::Conservative | ScanKind::AmbiguousMask | ScanKind::AmbiguousPrefix => {
            for at in (0..bytes / WORD).filter(|&i| shape.is_ambiguous(i)).map(|i| object + i * WORD) {
                // SAFETY: the word lies in an object of a stopped heap.
                if let Some(base) = resolve(unsafe { (at as *const usize).read() }) {
                    f(Edge::Ambiguous(base));
                }
            }
        }
        // No trace function is asked about an object that is gone.
        ScanKind::Trace if bytes > 0 => {
            let trace = shape.trace().expect("a trace shape has a function");
            // SAFETY: the object exists and is of the function's type.
            unsafe {
                report_edges(object, bytes, trace, &mut |word| f(Edge::Traced(led_to(space, word))), &resolve)
            };
        }
        _ => {}
    }
}
