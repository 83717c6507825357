//! Pointer bits: one bit a word beside the heap, for objects in shared spans. Allocation writes where an object's
//! pointers are, or, where the bits have room for it, the number of the object's shape. Invariant: in a shared span,
//! the bits of an object are those of its layout, and zero to the end of its cell, or their first two whole bytes are
//! its shape's number; elsewhere they mean nothing. A span's bits fill whole words, so they belong to the span's owner.
//! A marker beside the program reads those of old objects while the owner writes those of their neighbours into the same
//! words, which the owner therefore stores as a whole, with the old bits unchanged. They stand beside the heap rather
//! than in each span, as mark bits do (docs/design/memory.md).

use crate::address::ObjectRef;
use crate::granule::GRANULE;
use crate::layout::shape_id::{MAX_SHAPES, ShapeId};
use crate::layout::size_class::MAX_SMALL;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_layout::WORD;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// Bytes of the heap covered by a word of bits.
const BYTES: usize = 64 * WORD;

/// Cells from this size on have two bytes of bits to themselves, wherever they begin (at a multiple of 16 bytes).
pub(crate) const ROOM_FOR_NUMBER: usize = 192;
const _: () = assert!(MAX_SHAPES <= 1 << 16 && ROOM_FOR_NUMBER >= 2 * 8 * WORD + (8 * WORD - GRANULE));

/// The most bytes of the heap whose bits are written at once.
pub(crate) const MOST_AT_ONCE: usize = MAX_SMALL;
/// The words with their bits, wherever they begin.
const MOST_WORDS: usize = MOST_AT_ONCE.div_ceil(BYTES) + 1;

/// The bits of a heap whose reservation starts at `base`.
pub struct PointerBits {
    bits: MappedArray<AtomicU64>,
    base: usize,
    /// The place where the byte of bits for address 0 would be.
    origin: *mut u8,
}

// SAFETY: `origin` is made of `bits`, which is Send and Sync.
unsafe impl Send for PointerBits {}
// SAFETY: the same.
unsafe impl Sync for PointerBits {}

impl PointerBits {
    /// Reserves bits for `reservation` bytes from `base`.
    pub(crate) fn new(kernel: KernelRef, base: usize, reservation: usize) -> Result<Self, OsError> {
        assert!(base.is_multiple_of(BYTES));
        let bits = MappedArray::<AtomicU64>::new(kernel, reservation.div_ceil(BYTES))?;
        let origin = bits.as_ptr().cast::<u8>().wrapping_sub(base / (8 * WORD));
        Ok(PointerBits { bits, base, origin })
    }

    /// Commits the bits for the bytes `from..to` of the reservation.
    pub(crate) fn commit(&self, from: usize, to: usize) -> Result<(), OsError> {
        self.bits.commit(from / BYTES..to.div_ceil(BYTES))
    }

    /// Releases the memory of the bits for `bytes` bytes from `from` of the reservation.
    ///
    /// # Safety
    /// 1. No object is there, and no thread makes one meanwhile.
    pub(crate) unsafe fn release(&self, from: usize, bytes: usize) {
        // SAFETY: bits without an object mean nothing (contract 1). The kernel may decline.
        let _ = unsafe { self.bits.decommit(from / BYTES..(from + bytes) / BYTES) };
    }

    /// Writes the bits of the bytes `cell`, at most [`MOST_AT_ONCE`]: `write` gets the words that hold them and the
    /// first bit, and changes no others.
    ///
    /// # Panics
    /// There are more bytes.
    ///
    /// # Safety
    /// 1. The cell lies in a span that this thread owns, and no marking visits an object there.
    #[inline]
    pub(crate) unsafe fn write(&self, cell: Range<usize>, write: impl FnOnce(&mut [u64], usize)) {
        let first = (cell.start - self.base) / WORD;
        let end = (cell.end - self.base) / WORD;
        let words = first / 64..end.div_ceil(64);
        // SAFETY: contract 1.
        unsafe {
            match words.len() {
                0..=2 => self.write_words::<2>(words, first % 64, write),
                _ => self.write_words::<MOST_WORDS>(words, first % 64, write),
            }
        }
    }

    /// # Safety
    /// As [`write`](Self::write)'s.
    #[inline]
    unsafe fn write_words<const N: usize>(
        &self,
        words: Range<usize>,
        first: usize,
        write: impl FnOnce(&mut [u64], usize),
    ) {
        // SAFETY: contract 1; the words of a span are its own (pages are multiples of what a word covers), and they are
        // committed.
        let word = |index: usize| unsafe { &*self.bits.at(index) };
        let mut copy = [0; N];
        let copy = &mut copy[..words.len()];
        words
            .clone()
            .zip(copy.iter_mut())
            .for_each(|(index, bits)| *bits = word(index).load(Ordering::Relaxed));
        write(copy, first);
        // A marker that reads a word meanwhile wants the bits of its neighbours, which are the same before and after.
        words.zip(copy.iter()).for_each(|(index, bits)| word(index).store(*bits, Ordering::Relaxed));
    }

    fn number_of(&self, cell: usize) -> *mut u16 {
        self.origin.wrapping_add(cell.div_ceil(8 * WORD)).cast()
    }

    /// Writes the number of its shape for a cell of at least [`ROOM_FOR_NUMBER`] bytes.
    ///
    /// # Safety
    /// 1. The cell lies in a span that this thread owns, and no marking visits an object there.
    #[inline]
    pub(crate) unsafe fn write_shape(&self, cell: usize, shape: ShapeId) {
        // SAFETY: contract 1; both bytes cover this cell alone, and are committed. A marker reads the bytes of its
        // neighbours, and those of this cell only after whoever makes an object of it has published that.
        unsafe { self.number_of(cell).write_unaligned(shape.index() as u16) };
    }

    /// The shape of an object in a span of a shape that is scanned by number.
    ///
    /// # Safety
    /// 1. The object exists, and lies in such a span of this heap.
    #[inline]
    pub unsafe fn shape(&self, object: ObjectRef) -> ShapeId {
        // SAFETY: contract 1: the bits are committed, and hold a number.
        ShapeId::from_index(u32::from(unsafe { self.number_of(object.get()).read_unaligned() }))
    }

    /// Calls `slot` with the address of each pointer of the object that fills the bytes.
    ///
    /// # Safety
    /// 1. They are an object's, in a span of this heap whose objects have bits.
    pub unsafe fn for_each(&self, object: Range<usize>, mut slot: impl FnMut(usize)) {
        if object.is_empty() {
            return;
        }
        let first = (object.start - self.base) / WORD;
        let last = (object.end - self.base) / WORD - 1;
        // SAFETY: the bits of spans are committed (contract 1).
        let read = |index: usize| unsafe { &*self.bits.at(index) }.load(Ordering::Relaxed);
        let (mut index, last_index) = (first / 64, last / 64);
        let mut word = read(index) & u64::MAX << (first % 64);
        loop {
            if index == last_index {
                word &= u64::MAX >> (63 - last % 64);
            }
            while word != 0 {
                slot(self.base + (index * 64 + word.trailing_zeros() as usize) * WORD);
                word &= word - 1;
            }
            if index == last_index {
                return;
            }
            index += 1;
            word = read(index);
        }
    }
}

/// Clears `n` bits, at least one, from bit `at` on.
#[inline]
pub(crate) fn clear(bits: &mut [u64], at: usize, n: usize) {
    let (first, last) = (at / 64, (at + n - 1) / 64);
    let (from, to) = (u64::MAX << (at % 64), u64::MAX >> (63 - (at + n - 1) % 64));
    if first == last {
        bits[first] &= !(from & to);
        return;
    }
    bits[first] &= !from;
    bits[first + 1..last].fill(0);
    bits[last] &= !to;
}

/// Sets `n` bits from bit `at` on, 1 to 64, to those of `mask`, which has no others.
#[inline]
pub(crate) fn put(out: &mut [u64], at: usize, n: usize, mask: u64) {
    let (word, shift) = (at / 64, at % 64);
    let all = u64::MAX >> (64 - n);
    out[word] = out[word] & !(all << shift) | mask << shift;
    if shift + n > 64 {
        out[word + 1] = out[word + 1] & !(all >> (64 - shift)) | mask >> (64 - shift);
    }
}

impl Mapped for PointerBits {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.bits.for_each_mapping(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_layout::program::decode::mask_times;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cell_has_its_own_bits_and_no_others(
            cells in prop::collection::vec((1usize..257, any::<[u64; 4]>()), 1..20),
            order in any::<u64>(),
        ) {
            let bits = PointerBits::new(&heapwood_os::SYSTEM, 1 << 20, 1 << 20).unwrap();
            bits.commit(0, 1 << 20).unwrap();
            let mut at = 1 << 20;
            let mut placed = Vec::new();
            for (words, mask) in cells {
                let mask: Vec<u64> = (0..4).map(|k| match words.saturating_sub(k * 64) {
                    0 => 0,
                    left @ 1..64 => mask[k] & ((1 << left) - 1),
                    _ => mask[k],
                }).collect();
                placed.push((at..at + words * 8, mask));
                at += words * 8;
            }
            // Written twice in different orders: earlier bits must not stay.
            for round in 0..2 {
                for k in 0..placed.len() {
                    let (cell, mask) = &placed[(k + order as usize % placed.len() * round) % placed.len()];
                    let words = (cell.end - cell.start) / WORD;
                    // SAFETY: this test's own.
                    unsafe { bits.write(cell.clone(), |out, from| mask_times(mask, words, 1, out, from)) };
                    if words <= 64 {
                        // The same again, over the bits that are there.
                        // SAFETY: as above.
                        unsafe { bits.write(cell.clone(), |out, from| clear(out, from, words)) };
                        // SAFETY: as above.
                        unsafe { bits.write(cell.clone(), |out, from| put(out, from, words, mask[0])) };
                    }
                }
            }
            for (cell, mask) in &placed {
                let mut found = Vec::new();
                // SAFETY: this test's own.
                unsafe { bits.for_each(cell.clone(), |slot| found.push((slot - cell.start) / 8)) };
                let expected: Vec<usize> = (0..256).filter(|i| mask[i / 64] >> (i % 64) & 1 == 1).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
