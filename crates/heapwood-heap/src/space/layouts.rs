//! The layouts of a space: its shapes, its programs, and the pointer bits of objects in shared spans. Invariant: the
//! shape or program of a number never changes.

use crate::address::ObjectRef;
use crate::alloc::allocator::Allocator;
use crate::error::Refusal;
use crate::layout::per_object;
use crate::layout::pointer_bits::PointerBits;
use crate::layout::program_id::ProgramId;
use crate::layout::shape::{Scan, Shape};
use crate::layout::shape_id::ShapeId;
use crate::spans::page_table::PageEntry;
use heapwood_layout::program::{Nest, Program};

/// The layouts of a space.
#[derive(Clone, Copy)]
pub struct Layouts<'s>(pub(super) &'s Allocator);

impl<'s> Layouts<'s> {
    /// The first shape, for a marking loop to index by the shape numbers of page entries.
    #[inline(always)]
    pub fn shapes(self) -> *const Shape {
        self.0.shapes().as_ptr()
    }

    /// The shape with a number.
    ///
    /// # Panics
    /// The number is not this space's.
    #[inline]
    pub fn shape(self, id: ShapeId) -> &'s Shape {
        self.0.shapes().get(id)
    }

    /// The number of shapes, with number 0.
    pub fn shape_count(self) -> u32 {
        self.0.shapes().count()
    }

    /// The number of the shape for objects of `bytes` bytes scanned as `scan`.
    ///
    /// # Errors
    /// All numbers are in use, a program cannot be registered, or the kernel gives no memory.
    ///
    /// # Panics
    /// The program is another space's.
    pub fn shape_for(self, bytes: usize, scan: Scan) -> Result<ShapeId, Refusal> {
        self.0.shape_for(bytes, scan)
    }

    /// The number of a program for [`Scan::Program`].
    ///
    /// # Errors
    /// It needs too many loops and is too large to be unrolled, there are too many programs, or the kernel gives no
    /// memory. Nothing is registered then.
    pub fn register_program(self, program: Program<'_>) -> Result<ProgramId, Refusal> {
        self.0.shapes().register_program(program)
    }

    /// A registered program.
    ///
    /// # Panics
    /// The number is another space's.
    pub fn program(self, id: ProgramId) -> Program<'s> {
        self.0.shapes().programs().program(id)
    }

    /// The nest of a registered program.
    ///
    /// # Panics
    /// The number is another space's.
    pub fn nest(self, id: ProgramId) -> Nest<'s> {
        self.0.shapes().programs().nest(id)
    }

    /// The nest of the program of a shape, `None` if it has none.
    ///
    /// # Safety
    /// 1. The shape is this space's.
    #[inline]
    pub unsafe fn nest_of(self, shape: &Shape) -> Option<Nest<'s>> {
        // SAFETY: contract 1.
        unsafe { self.0.shapes().nest_of(shape) }
    }

    /// The pointer bits of objects in shared spans.
    #[inline(always)]
    pub fn pointer_bits(self) -> &'s PointerBits {
        self.0.sweeper().heap().pointer_bits()
    }

    /// The page entry by which to scan an object in a span of numbered objects, as if it lay in a span of its own
    /// shape.
    ///
    /// # Safety
    /// 1. The object exists, and lies in such a span of this space.
    #[inline]
    pub unsafe fn numbered_entry(self, object: ObjectRef) -> PageEntry {
        // SAFETY: contract 1.
        let id = unsafe { self.pointer_bits().shape(object) };
        // SAFETY: the number was written when the object was made, and is this space's.
        PageEntry::new(unsafe { self.0.shapes().get_unchecked(id) }.kind(), id, 0)
    }

    /// Writes the layout of a shape for a cell of a shared span, and nothing else: for measurements.
    ///
    /// # Safety
    /// 1. The cell is of the shape's size class, in a span of the shape that objects of the shape share.
    /// 2. This thread owns the span, and no marking is under way.
    /// 3. The shape is this space's.
    #[inline]
    pub unsafe fn write_only_layout(self, id: ShapeId, cell: ObjectRef) {
        // SAFETY: contracts 1, 2 and 3.
        unsafe { per_object::write(self.0.shapes(), self.pointer_bits(), id, cell.get()) };
    }

    /// Whether shapes with trace functions exist. Only these functions know what the words of their objects mean.
    #[inline(always)]
    pub fn has_trace_functions(self) -> bool {
        self.0.has_trace_functions()
    }

    /// Whether shapes exist whose words may be pointers and may be anything.
    pub fn is_conservative(self) -> bool {
        self.0.is_conservative()
    }
}
