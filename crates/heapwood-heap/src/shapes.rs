//! The shapes and programs of a space, registered as types come. Invariant: what has a number can be read without a lock,
//! since it was written before the number was given out, and never changes.

use crate::page_table::PageEntry;
use crate::programs::{ProgramId, ProgramRefused};
use crate::shape::{Scan, Shape};
use crate::shape_id::{MAX_SHAPES, ShapeId};
use crate::size_class::SizeClass;
use crate::space::Space;
use core::fmt;
use core::sync::atomic::Ordering;
use heapwood_layout::Layout;
use heapwood_layout::program::{Nest, Program};

/// Why a shape was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeRefused {
    /// There are [`MAX_SHAPES`] already.
    TooMany,
    /// Its program was not.
    Program(ProgramRefused),
}

impl fmt::Display for ShapeRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeRefused::TooMany => {
                write!(f, "more than {MAX_SHAPES} different layouts in one heap: let types share them")
            }
            ShapeRefused::Program(e) => write!(f, "a type's program is not possible here: {e}"),
        }
    }
}

impl core::error::Error for ShapeRefused {}

impl Space {
    /// The number of a program for [`Scan::Program`].
    ///
    /// # Errors
    /// It is no nest of few loops and too large to be unrolled, there are too many, or the kernel refuses memory. Nothing is
    /// registered then.
    pub fn register_program(&self, program: Program<'_>) -> Result<ProgramId, ProgramRefused> {
        self.programs.register(program)
    }

    /// A program that was registered.
    pub fn program(&self, id: ProgramId) -> Program<'_> {
        self.programs.program(id)
    }

    /// The loops of a program that was registered.
    pub fn nest(&self, id: ProgramId) -> Nest<'_> {
        self.programs.nest(id)
    }

    /// The shape with a number that this space gave out.
    #[inline(always)]
    pub fn shape(&self, id: ShapeId) -> &Shape {
        debug_assert!(id.0 != 0 && id.0 < self.shape_count.load(Ordering::Relaxed));
        // SAFETY: shapes are committed, and written once before their number is given out.
        unsafe { &*self.shapes.at(id.index()) }
    }

    /// How to scan an object in a span of a shape that is scanned by number: as if it lay in a span of its own shape.
    #[inline]
    pub fn numbered_entry(&self, object: usize) -> PageEntry {
        let id = self.pointer_bits.shape(object);
        PageEntry::new(self.shape(id).kind(), id, 0)
    }

    /// The first shape, for a marking loop to index by number.
    #[inline(always)]
    pub fn shapes(&self) -> *const Shape {
        self.shapes.as_ptr()
    }

    /// How many numbers of shapes are in use, 0 included.
    pub fn shape_count(&self) -> u32 {
        self.shape_count.load(Ordering::Acquire)
    }

    /// The number of the shape for objects of `bytes` bytes scanned as `scan` says.
    ///
    /// # Errors
    /// [`MAX_SHAPES`] different ones exist already, or a program cannot be registered.
    pub fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, ShapeRefused> {
        let scan = match scan {
            Scan::Unregistered { header, program } => {
                let program = self.register_program(program).map_err(ShapeRefused::Program)?;
                Scan::Program { header, program }
            }
            scan => scan,
        };
        let scan = match scan {
            Scan::Program { program, .. } if self.nest(program).first_pointer_at_or_after(0).is_none() => {
                Scan::Layout(Layout::NoPointers)
            }
            scan => scan,
        };
        let wanted = Shape::new(SizeClass::of(bytes), scan);
        let _one_at_a_time = self.registering.lock();
        let count = self.shape_count.load(Ordering::Relaxed);
        for index in 1..count {
            if self.shape(ShapeId(index)).same(&wanted) {
                return Ok(ShapeId(index));
            }
        }
        if count as usize >= MAX_SHAPES {
            return Err(ShapeRefused::TooMany);
        }
        // SAFETY: the slot is committed and unused, and the lock keeps others from taking it.
        unsafe { *self.shapes.at(count as usize) = wanted };
        self.shape_count.store(count + 1, Ordering::Release);
        Ok(ShapeId(count))
    }
}
