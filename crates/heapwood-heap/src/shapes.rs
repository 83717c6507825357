//! The shapes and programs of a space, registered as types come. Invariants: what has a number can be read without a lock,
//! since it was written before the number was given out, and never changes; every shape with a number is in the index, by
//! which one that exists is found in a few steps, however many there are.

use crate::address::ObjectRef;
use crate::error::{RegisterProgramError, ShapeError};
use crate::page_table::PageEntry;
use crate::programs::ProgramId;
use crate::shape::{Scan, Shape};
use crate::shape_id::{MAX_SHAPES, ShapeId, WELL_KNOWN};
use crate::size_class::SizeClass;
use crate::space::Space;
use core::sync::atomic::Ordering;
use heapwood_layout::Layout;
use heapwood_layout::program::{Nest, Program};
use heapwood_os::{KernelRef, MappedIndex, OsError};

/// How many shapes types can have beside those that every heap knows.
pub const MAX_OWN_SHAPES: usize = MAX_SHAPES - WELL_KNOWN as usize;

/// Shapes, and what is kept of each, are committed so many at a time: all that every heap knows at once.
const STEP: usize = 512;

/// What whoever registers a shape needs.
pub(crate) struct Registering {
    index: MappedIndex,
    /// How many shapes are committed.
    committed: usize,
}

impl Registering {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        Ok(Registering { index: MappedIndex::new(kernel, MAX_SHAPES)?, committed: 0 })
    }
}

impl Space {
    /// The number of a program for [`Scan::Program`].
    ///
    /// # Errors
    /// It is no nest of few loops and too large to be unrolled, there are too many, or the kernel refuses memory. Nothing is
    /// registered then.
    pub fn register_program(&self, program: Program<'_>) -> Result<ProgramId, RegisterProgramError> {
        self.programs.register(program)
    }

    /// A program that was registered.
    ///
    /// # Panics
    /// With another space.
    pub fn program(&self, id: ProgramId) -> Program<'_> {
        self.programs.program(id)
    }

    /// Its loops.
    ///
    /// # Panics
    /// With another space.
    pub fn nest(&self, id: ProgramId) -> Nest<'_> {
        self.programs.nest(id)
    }

    /// The loops of the program of a shape, `None` if it has none.
    ///
    /// # Safety
    /// 1. The shape is this space's.
    #[inline]
    pub unsafe fn nest_of(&self, shape: &Shape) -> Option<Nest<'_>> {
        // SAFETY: contract 1: the program was looked up when the shape was made.
        shape.program().map(|id| unsafe { self.programs.nest_unchecked(id) })
    }

    /// The shape with a number.
    ///
    /// # Panics
    /// This space did not give out the number.
    #[inline]
    pub fn shape(&self, id: ShapeId) -> &Shape {
        let shapes = self.shape_count();
        assert!(id.0 != 0 && id.0 < shapes, "shape {} is another heap's: this one has {shapes}", id.0);
        // SAFETY: just checked.
        unsafe { self.shape_unchecked(id) }
    }

    /// The same.
    ///
    /// # Safety
    /// 1. This space gave out the number, as it did those in its page table and in its span descriptors.
    #[inline(always)]
    pub(crate) unsafe fn shape_unchecked(&self, id: ShapeId) -> &Shape {
        debug_assert!(id.0 != 0 && id.0 < self.shape_count());
        // SAFETY: shapes are committed, and written once before their number is given out (contract 1).
        unsafe { &*self.shapes.at(id.index()) }
    }

    /// How to scan an object in a span of a shape that is scanned by number: as if it lay in a span of its own shape.
    ///
    /// # Safety
    /// 1. The object exists, and lies in such a span of this space.
    #[inline]
    pub unsafe fn numbered_entry(&self, object: ObjectRef) -> PageEntry {
        // SAFETY: contract 1.
        let id = unsafe { self.pointer_bits.shape(object) };
        // SAFETY: the number was written when the object was made, and was this space's.
        PageEntry::new(unsafe { self.shape_unchecked(id) }.kind(), id, 0)
    }

    /// The first shape, for a marking loop to index by the numbers that page entries hold.
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
    /// As many as there are numbers for exist already, a program cannot be registered, or the kernel gives no memory.
    ///
    /// # Panics
    /// With another space's program.
    pub fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, ShapeError> {
        let scan = match scan {
            Scan::Unregistered { header, program } => {
                let program = self.register_program(program).map_err(ShapeError::Program)?;
                Scan::Program { header, program }
            }
            scan => scan,
        };
        let scan = match scan {
            Scan::Program { program, .. }
                if self.programs.nest(program).first_pointer_at_or_after(0).is_none() =>
            {
                Scan::Layout(Layout::NoPointers)
            }
            scan => scan,
        };
        let wanted = Shape::new(SizeClass::of(bytes), scan);
        let mut registering = self.registering.lock();
        let same = |number| self.shape(ShapeId(number)).same(&wanted);
        if let Some(number) = registering.index.find(wanted.hash(), same) {
            return Ok(ShapeId(number));
        }
        let count = self.shape_count.load(Ordering::Relaxed);
        if count as usize >= MAX_SHAPES {
            return Err(ShapeError::TooMany);
        }
        self.add(&mut registering, count, wanted).map_err(ShapeError::Kernel)?;
        self.shape_count.store(count + 1, Ordering::Release);
        Ok(ShapeId(count))
    }

    /// Registers what every heap knows, in a space that nobody else has seen yet.
    pub(crate) fn register_well_known(&self) -> Result<(), OsError> {
        let mut registering = self.registering.lock();
        (1..WELL_KNOWN)
            .try_for_each(|number| self.add(&mut registering, number, Shape::well_known(ShapeId(number))))
    }

    /// Writes the shape with the next number.
    fn add(&self, registering: &mut Registering, number: u32, shape: Shape) -> Result<(), OsError> {
        let Registering { index, committed } = registering;
        let slot = number as usize;
        if slot >= *committed {
            let end = (slot / STEP + 1) * STEP;
            self.shapes.commit(*committed..end)?;
            self.commit_shapes(*committed..end)?;
            *committed = end;
        }
        index.reserve(|known| self.shape(ShapeId(known)).hash())?;
        index.insert(shape.hash(), number);
        // SAFETY: the slot is committed and unused, and the lock keeps others from taking it.
        unsafe { *self.shapes.at(slot) = shape };
        Ok(())
    }
}
