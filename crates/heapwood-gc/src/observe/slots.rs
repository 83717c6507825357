//! The pointer slots and other edges of an object, found simply: for verify mode, and for emptying an arena's values.
//! Invariant: nothing here is the marker's code, so that the two share no mistake, except the decoder of programs.

use crate::mark::report_edges;
use core::ops::Range;
use heapwood_heap::{Address, MOST_UNROLLED, ObjectRef, ScanKind, Shape, Space, Span};
use heapwood_layout::{Program, WORD};

/// The shape of the object at an address, or of the arena chunk.
pub(crate) fn shape_of(space: &Space, object: usize) -> Option<&Shape> {
    Some(shape_in(space, space.find_span(Address::new(object))?, object))
}

/// The shape of an object of a span.
pub(super) fn shape_in<'s>(space: &'s Space, span: &Span, object: usize) -> &'s Shape {
    let shape = space.layouts().shape(span.shape());
    if shape.kind() != ScanKind::Numbered {
        return shape;
    }
    // SAFETY: the object lies in a span of such a shape.
    let entry = unsafe { space.numbered_entry(ObjectRef::new(object)) };
    space.layouts().shape(entry.shape())
}

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
        f(Edge::Slot { at, value: unsafe { (at as *const usize).read() } });
    });
    let resolve = |word: usize| {
        let found = if words { space.find(Address::new(word)) } else { None };
        found.map(|found| found.base.get())
    };
    let Some(shape) = shape_of(space, object) else { return };
    match shape.kind() {
        kind if kind.has_ambiguous_words() => {
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
            unsafe { report_edges(object, bytes, trace, &mut |target| f(Edge::Traced(target)), &resolve) };
        }
        _ => {}
    }
}

/// Calls `f` with each word of an object that is a pointer by its layout.
pub(crate) fn for_each_slot(space: &Space, object: usize, bytes: usize, f: impl FnMut(usize)) {
    if let Some(shape) = shape_of(space, object) {
        for_each_slot_of(space, shape, object, bytes, f);
    }
}

/// The same, of an object of this shape.
pub(super) fn for_each_slot_of(
    space: &Space,
    shape: &Shape,
    object: usize,
    bytes: usize,
    mut f: impl FnMut(usize),
) {
    let bit = |mask: &[u64; 4], i: usize| i < 256 && mask[i / 64] >> (i % 64) & 1 == 1;
    let words = bytes / WORD;
    match shape.kind() {
        ScanKind::Pair | ScanKind::Mask | ScanKind::WideMask => {
            for (index, mut bits) in shape.mask.into_iter().enumerate() {
                while bits != 0 {
                    let i = index * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if i < words {
                        f(object + i * WORD);
                    }
                }
            }
        }
        ScanKind::Slice => {
            let (header, element) = (shape.header as usize, shape.words as usize);
            for i in header..words {
                let (number, within) = ((i - header) / element, (i - header) % element);
                if header + (number + 1) * element <= words && bit(&shape.mask, within) {
                    f(object + i * WORD);
                }
            }
        }
        ScanKind::Program => {
            let program = space.layouts().program(shape.program().expect("a program's shape has one"));
            let elements = shape.header as usize..(words + 1).saturating_sub(program.words() as usize);
            for_each_pointer(program, elements, |word| f(object + word * WORD));
        }
        // SAFETY: the object lies in a span of such a shape.
        ScanKind::Bits => unsafe { space.pointer_bits().for_each(object..object + words * WORD, f) },
        ScanKind::Arena => {
            if let Some(chunk) =
                space.arenas().find_chunk(Address::new(object)).filter(|chunk| chunk.is_in_use())
            {
                // SAFETY: the bits are written up to the chunk's frontier.
                unsafe { space.pointer_bits().for_each(chunk.start()..chunk.frontier(), f) }
            }
        }
        // Of an ephemeron no word is a pointer by itself (`ephemerons`).
        ScanKind::Ephemeron => {}
        ScanKind::NoPointers
        | ScanKind::Conservative
        | ScanKind::AmbiguousMask
        | ScanKind::AmbiguousPrefix
        | ScanKind::Trace
        | ScanKind::Numbered => {}
    }
}

/// Calls `f` with each pointer word of the elements that begin in a range of words. It decodes a program if 32 KiB
/// suffice, as for all unrolled programs, and otherwise tests word by word: slow, but another way than the marker's.
#[inline(never)]
fn for_each_pointer(program: Program<'_>, begins: Range<usize>, mut f: impl FnMut(usize)) {
    let element = program.words() as usize;
    let mut bits = [0u64; MOST_UNROLLED / 64];
    let decoded = element <= MOST_UNROLLED;
    if decoded {
        program.decode(&mut bits, 0);
    }
    let is_pointer = |word: usize| match decoded {
        true => bits[word / 64] >> (word % 64) & 1 == 1,
        false => program.is_pointer(word as u64),
    };
    for first in begins.step_by(element) {
        (0..element).filter(|&word| is_pointer(word)).for_each(|word| f(first + word));
    }
}
