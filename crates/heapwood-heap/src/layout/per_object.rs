//! The record beside the heap of an object in a shared span: its pointers as bits, or in their place the number of its
//! shape. Invariant: it is written before the object exists, and only markings read it.

use crate::layout::pointer_bits::{PointerBits, clear, put};
use crate::layout::shape::{ScanKind, Shape};
use crate::layout::shape_id::{PerObject, ShapeId};
use crate::layout::shapes::Shapes;
use heapwood_layout::WORD;
use heapwood_layout::program::decode::mask_times;

/// Writes the layout of a shape for a cell of a shared span.
///
/// # Safety
/// 1. The cell is of the shape's size class, in a span of the shape that objects of the shape share.
/// 2. This thread owns the span, and no marking visits an object in the cell.
/// 3. The shape is one of `shapes`.
#[inline]
pub(crate) unsafe fn write(shapes: &Shapes, table: &PointerBits, id: ShapeId, cell: usize) {
    // SAFETY: contract 3.
    let shape = unsafe { shapes.get_unchecked(id) };
    if shape.per_object() == Some(PerObject::Number) {
        // SAFETY: contracts 1 and 2.
        return unsafe { table.write_shape(cell, id) };
    }
    let size = shape.cell_size as usize;
    // SAFETY: contract 2.
    unsafe { table.write(cell..cell + size, |bits, at| write_bits(shapes, shape, bits, at, size / WORD)) };
}

/// Writes the pointer bits of an object for a cell of `words` words, whose first bit is bit `at` of `out`.
fn write_bits(shapes: &Shapes, shape: &Shape, out: &mut [u64], at: usize, words: usize) {
    if shape.kind() == ScanKind::Mask {
        return put(out, at, words, shape.mask[0]);
    }
    clear(out, at, words);
    if shape.head() != 0 {
        put(out, at, words.min(64), shape.head());
    }
    let first = at + shape.header as usize;
    let times = |element: usize| words.saturating_sub(shape.header as usize) / element;
    if let ScanKind::Slice = shape.kind() {
        let element = shape.words as usize;
        if times(element) > 0 {
            mask_times(&shape.mask, element, times(element), out, first);
        }
        return;
    }
    // SAFETY: the shape is one of these.
    let program =
        unsafe { shapes.program_of(shape) }.expect("shapes that have bits are masks, slices and programs");
    if times(program.words() as usize) > 0 {
        program.decode_times(times(program.words() as usize), out, first);
    }
}
