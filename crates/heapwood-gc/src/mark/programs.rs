//! Objects whose type a program describes: the marker runs the loops of the program. A slice may begin and end at any
//! word; its place in the type follows from where the object begins. Invariant: a slice begins at a pointer and is
//! short, so words without pointers before it cost nothing, however many they are.

use super::mode::Mode;
use super::queue::Marker;
use super::scan::{SLICE_WORDS, WORD};
use super::stack::Range;
use heapwood_heap::{Address, ScanKind, Shape};
use heapwood_layout::program::{Nest, Piece};

/// A slice has at least N words for each node of a nest, because finding where a slice begins may visit each node.
const WORDS_A_NODE: usize = 16;

/// A range as a part of elements of one type.
struct Elements<'n> {
    nest: Nest<'n>,
    /// The address of the range's first element, and the first word in it.
    element: usize,
    word: u64,
    /// An element that the object's end cuts off does not exist.
    object_end: usize,
}

impl<'h, M: Mode> Marker<'h, M> {
    fn nest(&self, shape: &Shape) -> Nest<'h> {
        // SAFETY: the shapes of objects are their heap's.
        unsafe { self.space.layouts().nest_of(shape) }.expect("a program's shape has one")
    }

    /// The elements of a range.
    fn elements(&self, range: &Range, shape: &Shape) -> Elements<'h> {
        let space = self.space;
        let nest = self.nest(shape);
        let next = Address::new(range.next);
        let span = space.find_span(next).expect("a range lies in an object");
        let base = span.cell_in(next).expect("a range lies in an object").get();
        let bytes = nest.words() as usize * WORD;
        let offset = range.next - (base + shape.header as usize * WORD);
        let (element, word) = (range.next - offset % bytes, (offset % bytes / WORD) as u64);
        Elements { nest, element, word, object_end: base + span.object_bytes() }
    }

    /// Takes the first slice off a range, if the range has a program's shape.
    pub(super) fn slice_of_program(&self, range: &mut Range) -> Option<Range> {
        if range.shape == 0 || self.shape_numbered(range.shape).kind() != ScanKind::Program {
            return None;
        }
        let Elements { nest, element, word, .. } = self.elements(range, self.shape_numbered(range.shape));
        // Words without pointers are skipped here, in one step.
        let next = match nest.first_pointer_at_or_after(word) {
            Some(first) => element + first as usize * WORD,
            None => element + nest.words() as usize * WORD,
        };
        let start = next.min(range.end);
        let words = SLICE_WORDS.max(nest.nodes().len() * WORDS_A_NODE);
        let slice = Range { next: start, end: range.end.min(start + words * WORD), ..*range };
        range.next = slice.end;
        Some(slice)
    }

    /// Scans a slice of an object.
    pub(super) fn scan_program(&mut self, range: Range) {
        if range.next >= range.end {
            return;
        }
        let shape = self.shape_numbered(range.shape);
        let Elements { nest, element, word, object_end } = self.elements(&range, shape);
        self.scan_elements(nest, (element, word), range.end, object_end);
    }

    /// Scans an object of a size class.
    pub(super) fn scan_small_program(&mut self, first: usize, end: usize, shape: &Shape) {
        let nest = self.nest(shape);
        self.scan_elements(nest, (first, 0), end, end);
    }

    /// Scans the elements from the word `from` up to `end`, except an element that the object's end cuts off.
    #[inline]
    fn scan_elements(&mut self, nest: Nest<'h>, from: (usize, u64), end: usize, object_end: usize) {
        let (mut element, word) = from;
        let bytes = nest.words() as usize * WORD;
        let mut cursor = nest.cursor(word);
        while element < end && element + bytes <= object_end {
            let to = (((end - element) / WORD) as u64).min(nest.words());
            cursor.end_before(to);
            while let Some(piece) = cursor.next_run() {
                match piece {
                    Piece::Ones { word, words } => {
                        let first = element + word as usize * WORD;
                        for slot in (first..first + words as usize * WORD).step_by(WORD) {
                            self.push(Self::word(slot));
                        }
                    }
                    Piece::Bits { word, bits, .. } => self.scan_mask(element + word as usize * WORD, bits),
                }
            }
            element += bytes;
            cursor.restart();
        }
    }
}
