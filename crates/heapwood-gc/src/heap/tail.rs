//! Objects with a variable tail: a header, and behind it as many elements as an allocation asks for. A tail gives the scan of each
//! size. Objects of up to 64 words get a mask that repeats the element's to the end of the cell, since masks are followed
//! fastest; others a slice, or a program, after the header. Memory behind the last element is zero, so a scan may go on to the end of the
//! object. Invariant: a scan has all pointers of the header and of each element that fits.

use super::object_type::slice_scan;
use crate::error::TailError;
use heapwood_heap::{ProgramId, Scan, SizeClass};
use heapwood_layout::{Layout, TypeDescriptor, WORD};

/// The most words of an object whose pointers are a mask of one block.
const SHORT: usize = 64;
/// The most words of a header in front of elements with pointers.
const MOST_HEADER: usize = u8::MAX as usize;

/// A type of elements.
#[derive(Clone, Copy, Debug)]
pub enum TailElement {
    /// By a descriptor.
    Described(TypeDescriptor),
    /// So many bytes, by a program.
    Program(usize, ProgramId),
}

/// A header and a type of elements.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    /// Bytes of the header.
    header: usize,
    /// How the header alone is scanned.
    alone: Layout,
    /// Its pointers, if elements with pointers follow.
    head: u64,
    element: TailElement,
}

impl Tail {
    /// Objects of this header, if there is one, and elements.
    ///
    /// # Errors
    /// One has a trace function, which knows single objects only; or elements with pointers follow a header that is no whole number of
    /// words, or longer than 255 of them, or has pointers behind its first 64.
    pub fn new(header: Option<&TypeDescriptor>, element: TailElement) -> Result<Self, TailError> {
        let is_traced = |layout| matches!(layout, Layout::Trace(_));
        let traces = match element {
            TailElement::Described(element) => is_traced(element.layout()),
            TailElement::Program(..) => false,
        };
        let alone = header.map_or(Layout::NoPointers, TypeDescriptor::layout);
        if traces || is_traced(alone) {
            return Err(TailError::Traced);
        }
        let bytes = header.map_or(0, TypeDescriptor::size);
        let bits = if let Layout::Mask(mask) = alone { mask.bits() } else { [0; 4] };
        let tail = Tail { header: bytes, alone, head: bits[0], element };
        if tail.element_has_pointers() {
            if !bytes.is_multiple_of(WORD) {
                return Err(TailError::NotWholeWords { bytes });
            }
            if bytes / WORD > MOST_HEADER || bits[1] | bits[2] | bits[3] != 0 {
                return Err(TailError::LongHeader { bytes });
            }
        }
        Ok(tail)
    }

    fn element_has_pointers(&self) -> bool {
        match self.element {
            TailElement::Described(element) => element.has_pointers(),
            TailElement::Program(..) => true,
        }
    }

    /// Bytes of the header.
    pub fn header_bytes(&self) -> usize {
        self.header
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> usize {
        match self.element {
            TailElement::Described(element) => element.size(),
            TailElement::Program(bytes, _) => bytes,
        }
    }

    /// Bytes of an object with `n` elements, at least 1; `None` if none can have so many.
    pub fn bytes(&self, n: usize) -> Option<usize> {
        let bytes = self.element_bytes().checked_mul(n)?.checked_add(self.header)?;
        (bytes <= isize::MAX as usize).then_some(bytes.max(1))
    }

    /// The scan of objects of so many bytes.
    pub fn scan(&self, bytes: usize) -> Scan {
        let header = (self.header / WORD) as u8;
        let scan = match self.element {
            _ if self.alone == Layout::Conservative => Scan::Layout(Layout::Conservative),
            TailElement::Described(element) if !element.has_pointers() => Scan::Layout(self.alone),
            TailElement::Described(element) => match self.short_mask(&element, bytes) {
                Some(mask) => Scan::Layout(mask),
                None => slice_scan(&element, header).expect("elements have no trace function"),
            },
            TailElement::Program(_, program) => Scan::Program { header, program },
        };
        match scan {
            Scan::Slice { header, words, mask } if self.head != 0 => {
                Scan::HeadedSlice { header, head: self.head, words, mask }
            }
            Scan::Program { header, program } if self.head != 0 => {
                Scan::HeadedProgram { header, head: self.head, program }
            }
            scan => scan,
        }
    }

    /// The mask of the header's and all elements' pointers in a cell for so many bytes, if that is short.
    fn short_mask(&self, element: &TypeDescriptor, bytes: usize) -> Option<Layout> {
        let cell = SizeClass::of(bytes)?.cell_size() / WORD;
        let Layout::Mask(mask) = element.layout() else { return None };
        let words = element.size() / WORD;
        if cell > SHORT {
            return None;
        }
        let (mut all, mut at) = (self.head, self.header / WORD);
        while at + words <= cell {
            all |= mask.bits()[0] << at;
            at += words;
        }
        let described = TypeDescriptor::masked(cell * WORD, &[all]).expect("no pointer lies behind the cell");
        Some(described.layout())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(words: usize, mask: &[u64]) -> TypeDescriptor {
        TypeDescriptor::masked(words * WORD, mask).unwrap()
    }

    /// The pointers of an object, word by word, by what its scan says.
    fn pointers(scan: Scan, bytes: usize) -> Vec<usize> {
        let words = bytes / WORD;
        let bit = |mask: &[u64; 4], i: usize| i < 256 && mask[i / 64] >> (i % 64) & 1 == 1;
        let elements = |header: u8, head: u64, element: usize, mask: [u64; 4]| {
            let in_head = (0..header as usize).filter(move |&i| i < 64 && head >> i & 1 != 0);
            let behind =
                (header as usize..words).filter(move |i| bit(&mask, (i - header as usize) % element));
            in_head.chain(behind).collect()
        };
        match scan {
            Scan::Layout(Layout::NoPointers) => Vec::new(),
            Scan::Layout(Layout::Mask(mask)) => mask.iter().filter(|&i| i < words).collect(),
            Scan::Slice { header, words, mask } => elements(header, 0, words, mask),
            Scan::HeadedSlice { header, head, words, mask } => elements(header, head, words, mask),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_size_has_the_pointers_of_header_and_elements() {
        let headers = [None, Some(masked(1, &[1])), Some(masked(3, &[0b100])), Some(masked(2, &[]))];
        let elements = [masked(1, &[1]), masked(3, &[0b101]), masked(70, &[1 << 63, 1]), masked(2, &[])];
        for header in &headers {
            for element in &elements {
                let tail = Tail::new(header.as_ref(), TailElement::Described(*element)).unwrap();
                for n in (0..70).chain([300, 5000]) {
                    let bytes = tail.bytes(n).unwrap();
                    let layout = |of: &TypeDescriptor, at: usize| match of.layout() {
                        Layout::Mask(mask) => mask.iter().map(|i| at + i).collect(),
                        _ => Vec::new(),
                    };
                    let first = tail.header_bytes() / WORD;
                    let mut wanted: Vec<usize> = header.iter().flat_map(|of| layout(of, 0)).collect();
                    for i in 0..n {
                        wanted.extend(layout(element, first + i * element.size() / WORD));
                    }
                    assert_eq!(
                        pointers(tail.scan(bytes), bytes),
                        wanted,
                        "{n} of {element:?} after {header:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_no_scan_can_say_is_refused() {
        unsafe extern "C" fn trace(_: *mut u8, _: usize, _: *mut heapwood_layout::TraceContext) {}
        let of = |header: Option<TypeDescriptor>, element| {
            Tail::new(header.as_ref(), TailElement::Described(element)).map(|tail| tail.header_bytes())
        };
        let (pointer, traced) = (masked(1, &[1]), TypeDescriptor::traced(8, trace).unwrap());
        let bytes = TypeDescriptor::no_pointers(12).unwrap();
        assert_eq!(of(None, traced), Err(TailError::Traced));
        assert_eq!(of(Some(traced), pointer), Err(TailError::Traced));
        assert_eq!(of(Some(bytes), pointer), Err(TailError::NotWholeWords { bytes: 12 }));
        assert_eq!(of(Some(bytes), bytes), Ok(12));
        assert_eq!(of(Some(masked(256, &[1])), pointer), Err(TailError::LongHeader { bytes: 2048 }));
        assert_eq!(of(Some(masked(65, &[0, 1])), pointer), Err(TailError::LongHeader { bytes: 520 }));
        assert_eq!(of(Some(masked(65, &[0, 1])), bytes), Ok(520));
        assert_eq!(of(Some(masked(255, &[1])), pointer), Ok(2040));
        let tail = Tail::new(None, TailElement::Described(pointer)).unwrap();
        assert_eq!(
            (tail.bytes(0), tail.bytes(usize::MAX / 8), tail.bytes(usize::MAX)),
            (Some(1), None, None)
        );
    }
}
