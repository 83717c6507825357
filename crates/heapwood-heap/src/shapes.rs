//! The shapes and programs of a space, registered as types come. Invariants: what has a number can be read without a lock,
//! since it was written before the number was given out, and never changes; every shape with a number is in the index, by
//! which one that exists is found in a few steps, however many there are.

use crate::page_table::PageEntry;
use crate::programs::{ProgramId, ProgramRefused};
use crate::shape::{Scan, Shape};
use crate::shape_id::{MAX_SHAPES, ShapeId, WELL_KNOWN};
use crate::size_class::SizeClass;
use crate::space::Space;
use core::fmt;
use core::sync::atomic::Ordering;
use heapwood_layout::Layout;
use heapwood_layout::program::{Nest, Program};
use heapwood_os::{KernelRef, MappedIndex, OsError};

/// How many shapes types can have beside those that every heap knows.
pub const MAX_OWN: usize = MAX_SHAPES - WELL_KNOWN as usize;

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

/// Why a shape was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeRefused {
    /// There are as many as the heap has numbers for.
    TooMany,
    /// The kernel gave no memory.
    Kernel(OsError),
    /// Its program was not.
    Program(ProgramRefused),
}

impl fmt::Display for ShapeRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeRefused::TooMany => {
                write!(
                    f,
                    "more than {MAX_OWN} different layouts in one heap, where types of one size class and the same \
                     pointers have one: let types share them"
                )
            }
            ShapeRefused::Kernel(e) => e.fmt(f),
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
    /// As many as there are numbers for exist already, a program cannot be registered, or the kernel gives no memory.
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
        let mut registering = self.registering.lock();
        let same = |number| self.shape(ShapeId(number)).same(&wanted);
        if let Some(number) = registering.index.find(wanted.hash(), same) {
            return Ok(ShapeId(number));
        }
        let count = self.shape_count.load(Ordering::Relaxed);
        if count as usize >= MAX_SHAPES {
            return Err(ShapeRefused::TooMany);
        }
        self.add(&mut registering, count, wanted).map_err(ShapeRefused::Kernel)?;
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
