//! The shapes and programs of a heap, registered as types come. Invariants: a shape with a number can be read without a
//! lock, since it was written before the number was given out and never changes; every shape with a number is in the
//! index, a hash table that finds it in a few steps.

use crate::error::Refusal;
use crate::layout::program_id::ProgramId;
use crate::layout::programs::Programs;
use crate::layout::shape::{Scan, Shape};
use crate::layout::shape_id::{MAX_SHAPES, ShapeId, WELL_KNOWN};
use crate::layout::size_class::SizeClass;
use crate::lock_order::SHAPES;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heapwood_layout::Layout;
use heapwood_layout::program::{Nest, Program};
use heapwood_os::{
    ForkLock, KernelRef, Lock, Mapped, MappedArray, MappedIndex, OsError, for_each_mapping_of,
};

/// Shapes, and the state of each, are committed in steps of this many; the first has all that every heap knows.
const STEP: usize = 512;

/// The shapes of a heap.
pub struct Shapes {
    shapes: MappedArray<Shape>,
    /// The numbers in use, 0 included.
    count: AtomicU32,
    programs: Programs,
    /// One of them has a trace function, or is about to be registered.
    traces: AtomicBool,
    /// The words of one may be pointers and may be anything.
    is_conservative: AtomicBool,
    registering: Lock<ShapeRegistration, SHAPES>,
}

/// State of the registration.
struct ShapeRegistration {
    index: MappedIndex,
    /// The number of committed shapes.
    committed: usize,
}

impl Shapes {
    /// The shapes that every heap has. Whenever more numbers become possible, `commit` makes room for the other state
    /// of each shape.
    pub(crate) fn new(
        kernel: KernelRef,
        commit: impl Fn(Range<usize>) -> Result<(), OsError>,
    ) -> Result<Self, OsError> {
        let registering = ShapeRegistration { index: MappedIndex::new(kernel, MAX_SHAPES)?, committed: 0 };
        let shapes = Shapes {
            shapes: MappedArray::new(kernel, MAX_SHAPES)?,
            count: AtomicU32::new(WELL_KNOWN),
            programs: Programs::new(kernel)?,
            traces: AtomicBool::new(false),
            is_conservative: AtomicBool::new(false),
            registering: Lock::new(registering),
        };
        (1..WELL_KNOWN).try_for_each(|number| {
            let shape = Shape::well_known(ShapeId::from_index(number));
            shapes.add(&mut shapes.registering.lock(), number, shape, &commit)
        })?;
        Ok(shapes)
    }

    /// Calls `f` with the locks for registering.
    pub(crate) fn for_each_lock(&self, f: &mut dyn FnMut(&dyn ForkLock)) {
        f(&self.registering);
        f(self.programs.fork_lock());
    }

    /// A registered program.
    ///
    /// # Panics
    /// The number is another space's.
    pub fn program(&self, id: ProgramId) -> Program<'_> {
        self.programs.program(id)
    }

    /// The nest of a registered program.
    ///
    /// # Panics
    /// The number is another space's.
    pub fn nest(&self, id: ProgramId) -> Nest<'_> {
        self.programs.nest(id)
    }

    /// Whether a shape has a trace function: only these functions know what the words of their objects mean. A thread that has
    /// stopped all others sees that of each object that exists.
    #[inline(always)]
    pub fn has_trace_functions(&self) -> bool {
        self.traces.load(Ordering::Relaxed)
    }

    /// Whether shapes exist whose words may be pointers and may be anything.
    pub fn is_conservative(&self) -> bool {
        self.is_conservative.load(Ordering::Relaxed)
    }

    /// The shape with a number.
    ///
    /// # Panics
    /// These did not give out the number.
    #[inline]
    pub fn shape(&self, id: ShapeId) -> &Shape {
        let shapes = self.shape_count();
        assert!(
            (1..shapes as usize).contains(&id.index()),
            "shape {} is another heap's: this one has {shapes}",
            id.index()
        );
        // SAFETY: just checked.
        unsafe { self.get_unchecked(id) }
    }

    /// The same without the check.
    ///
    /// # Safety
    /// 1. These gave out the number, as they did those in their heap's page table and span descriptors.
    #[inline(always)]
    pub(crate) unsafe fn get_unchecked(&self, id: ShapeId) -> &Shape {
        debug_assert!((1..self.shape_count() as usize).contains(&id.index()));
        // SAFETY: shapes are committed, and written once before their number is given out (contract 1).
        unsafe { &*self.shapes.at(id.index()) }
    }

    /// The first shape, for a marking loop to index by the shape numbers of page entries.
    #[inline(always)]
    pub fn shapes(&self) -> *const Shape {
        self.shapes.as_ptr()
    }

    /// The number of shapes, with number 0.
    #[inline(always)]
    pub fn shape_count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// The nest of the program of a shape, `None` if it has none.
    ///
    /// # Safety
    /// 1. The shape is one of these.
    #[inline]
    pub unsafe fn nest_of(&self, shape: &Shape) -> Option<Nest<'_>> {
        // SAFETY: contract 1: the program was looked up when the shape was made.
        shape.program().map(|id| unsafe { self.programs.nest_unchecked(id) })
    }

    /// The program of a shape, `None` if it has none.
    ///
    /// # Safety
    /// 1. The shape is one of these.
    pub(crate) unsafe fn program_of(&self, shape: &Shape) -> Option<Program<'_>> {
        // SAFETY: as for `nest_of`.
        shape.program().map(|id| unsafe { self.programs.program_unchecked(id) })
    }

    /// The number of a program for [`Scan::Program`].
    ///
    /// # Errors
    /// It needs too many loops and is too large to be unrolled, there are too many programs, or the kernel gives no
    /// memory. Nothing is registered then.
    pub fn register_program(&self, program: Program<'_>) -> Result<ProgramId, Refusal> {
        self.programs.register(program)
    }

    /// Registers the shape of objects of `bytes` bytes that are scanned as `scan` says; returns its number. `commit` as
    /// for `new`.
    pub(crate) fn register(
        &self,
        bytes: usize,
        scan: Scan,
        commit: impl Fn(Range<usize>) -> Result<(), OsError>,
    ) -> Result<ShapeId, Refusal> {
        // Before there is an object of the shape.
        match scan {
            Scan::Layout(Layout::Trace(_)) | Scan::Trace { .. } => self.traces.store(true, Ordering::Relaxed),
            Scan::Layout(Layout::Conservative) | Scan::AmbiguousMask(_) | Scan::AmbiguousPrefix(_) => {
                self.is_conservative.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
        let scan = match scan {
            Scan::Unregistered { header, program } => {
                let program = self.register_program(program)?;
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
        let same = |number| self.numbered(number).same(&wanted);
        if let Some(number) = registering.index.find(wanted.hash(), same) {
            return Ok(ShapeId::from_index(number));
        }
        let count = self.shape_count();
        if count as usize >= MAX_SHAPES {
            return Err(Refusal::ManyShapes);
        }
        self.add(&mut registering, count, wanted, commit)?;
        self.count.store(count + 1, Ordering::Release);
        Ok(ShapeId::from_index(count))
    }

    fn numbered(&self, number: u32) -> &Shape {
        // SAFETY: the index holds the numbers of shapes that were written.
        unsafe { self.get_unchecked(ShapeId::from_index(number)) }
    }

    /// Writes the shape with the next number.
    fn add(
        &self,
        registering: &mut ShapeRegistration,
        number: u32,
        shape: Shape,
        commit: impl Fn(Range<usize>) -> Result<(), OsError>,
    ) -> Result<(), OsError> {
        let ShapeRegistration { index, committed } = registering;
        let slot = number as usize;
        if slot >= *committed {
            let end = (slot / STEP + 1) * STEP;
            self.shapes.commit(*committed..end)?;
            commit(*committed..end)?;
            *committed = end;
        }
        index.reserve(|known| self.numbered(known).hash())?;
        index.insert(shape.hash(), number);
        // SAFETY: the slot is committed and unused, and the lock keeps others from taking it.
        unsafe { *self.shapes.at(slot) = shape };
        Ok(())
    }
}

impl Mapped for Shapes {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        let index = &self.registering.lock().index;
        for_each_mapping_of(&[&self.shapes, index, &self.programs], f);
    }
}
