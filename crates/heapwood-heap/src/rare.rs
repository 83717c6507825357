//! Layouts of few objects: they have no spans of their own, of which most would be empty, but share mixed spans of
//! their size class, where each object's pointer bits say what it is, or the number of its shape in their place. A layout
//! gets spans of its own once it has filled one within a cycle, and keeps to them as long as it has any. Invariant: a
//! layout's count is that of the objects that went to mixed spans in this cycle, or fewer where threads counted at once, up to
//! those of a span; or [`OWN`], which only the end of a cycle takes back.

use crate::address::ObjectRef;
use crate::bump::Bumps;
use crate::error::SpaceError;
use crate::pointer_bits::{clear, put};
use crate::shape::{ScanKind, Shape};
use crate::shape_id::{MAX_SHAPES, Mixed, ShapeId, WELL_KNOWN};
use crate::space::Space;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_layout::WORD;
use heapwood_layout::program::decode::mask_times;
use heapwood_os::{KernelRef, MappedArray, OsError};

/// The layout has spans of its own.
const OWN: u32 = u32::MAX;

/// How many objects of each layout went to mixed spans, in the low half of a word, and in which cycle in the high half.
pub(crate) struct Rare {
    counts: MappedArray<AtomicU64>,
}

impl Rare {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        Ok(Rare { counts: MappedArray::new(kernel, MAX_SHAPES)? })
    }

    /// Makes room for the counts of shapes with numbers below `shapes`.
    pub(crate) fn commit(&self, shapes: core::ops::Range<usize>) -> Result<(), OsError> {
        self.counts.commit(shapes)
    }

    fn count(&self, id: ShapeId) -> &AtomicU64 {
        // SAFETY: the counts of registered shapes are committed.
        unsafe { &*self.counts.at(id.index()) }
    }

    /// A cycle has begun, in which the layout has spans of its own or not.
    pub(crate) fn begin_cycle(&self, id: ShapeId, cycle: u32, has_spans: bool) {
        self.count(id).store(count_in(cycle, if has_spans { OWN } else { 0 }), Ordering::Relaxed);
    }
}

fn count_in(cycle: u32, objects: u32) -> u64 {
    (cycle as u64) << 32 | objects as u64
}

impl Space {
    /// Whether the next object of the shape goes to a mixed span; counts it if so.
    pub(crate) fn is_rare(&self, id: ShapeId, shape: &Shape) -> bool {
        if id.0 < WELL_KNOWN || shape.rare_form().is_none() {
            return false;
        }
        let count = self.rare.count(id);
        let cycle = self.cycle();
        if count.load(Ordering::Relaxed) >> 32 != cycle as u64 {
            // The lists know whether the layout has spans, and say so when they are put in order.
            let _ = self.central.lock().lists(self, id);
        }
        let so_far = count.load(Ordering::Relaxed) as u32;
        if so_far == OWN {
            return false;
        }
        #[cfg(feature = "inspect")]
        if self.always_mixed() {
            return true;
        }
        let cells = shape.class().map_or(0, |class| class.span_cells());
        let more = if so_far as usize + 1 >= cells { OWN } else { so_far + 1 };
        // If another thread counted meanwhile, this object is not: what may not happen is that its OWN is taken back.
        let (seen, more) = (count_in(cycle, so_far), count_in(cycle, more));
        let _ = count.compare_exchange(seen, more, Ordering::Relaxed, Ordering::Relaxed);
        true
    }

    /// Gives the bump of a rare shape one cell of a mixed span, zero and with its layout written. The cell counts
    /// as an object from now on, one of zeros until it is used.
    pub(crate) fn refill_rare(
        &self,
        bumps: &Bumps<'_>,
        id: ShapeId,
        shape: &Shape,
    ) -> Result<(), SpaceError> {
        let class = shape.class().expect("refill is asked for shapes with a size class");
        let form = shape.rare_form().expect("refill asks whether the shape is rare");
        let (size, mixed) = (class.cell_size(), ShapeId::mixed(class, form));
        let from = bumps.get(mixed);
        let cell = match from.peek(size) {
            Some(cell) => cell,
            None => {
                self.refill(bumps, mixed, false)?;
                from.peek(size).expect("a refilled bump has a cell")
            }
        };
        let addr = cell.as_ptr() as usize;
        // SAFETY: the span is the one that this mutator allocates from, and mutators are stopped while marking goes on.
        unsafe { self.write_layout(id, ObjectRef::new(addr)) };
        // SAFETY: the cell that was peeked at; it is of zeros.
        unsafe { from.commit(cell, size) };
        bumps.local().activate(id);
        let bump = bumps.get(id);
        bump.cell_size.set(size as u32);
        bump.set_run(addr, addr + size);
        Ok(())
    }

    /// Says that a cell of a mixed span holds an object of a shape: all that is written for its layout.
    ///
    /// # Safety
    /// 1. The cell is of the shape's size class, in a span of the mixed shape that objects of the shape go to.
    /// 2. This thread owns the span, and no marking is under way.
    /// 3. The shape is this space's.
    #[inline]
    pub(crate) unsafe fn write_layout(&self, id: ShapeId, cell: ObjectRef) {
        // SAFETY: contract 3.
        let shape = unsafe { self.shape_unchecked(id) };
        let cell = cell.get();
        match shape.rare_form() {
            // SAFETY: contract 2.
            Some(Mixed::Numbered) => unsafe { self.pointer_bits.write_shape(cell, id) },
            // SAFETY: as this one's.
            _ => unsafe { self.write_pointers(shape, cell) },
        }
    }

    /// What is written for the layout of an object, alone: to be measured.
    ///
    /// # Safety
    /// As `write_layout`'s.
    #[cfg(feature = "inspect")]
    #[inline]
    pub unsafe fn write_only_layout(&self, id: ShapeId, cell: ObjectRef) {
        // SAFETY: this one's contract.
        unsafe { self.write_layout(id, cell) }
    }

    /// The same for a shape that goes to spans of bits.
    ///
    /// # Safety
    /// As [`write_layout`](Self::write_layout)'s.
    unsafe fn write_pointers(&self, shape: &Shape, cell: usize) {
        let size = shape.cell_size as usize;
        // SAFETY: contract 2.
        unsafe {
            self.pointer_bits
                .write(cell..cell + size, |bits, at| self.write_bits(shape, bits, at, size / WORD))
        };
    }

    /// Makes the bits of a cell of `words` words, the first of them bit `at` of `out`, those of an object's pointers.
    fn write_bits(&self, shape: &Shape, out: &mut [u64], at: usize, words: usize) {
        if shape.kind() == ScanKind::Mask {
            return put(out, at, words, shape.mask[0]);
        }
        clear(out, at, words);
        let first = at + shape.header as usize;
        let times = |element: usize| words.saturating_sub(shape.header as usize) / element;
        match shape.kind() {
            ScanKind::Slice => {
                let element = shape.words as usize;
                if times(element) > 0 {
                    mask_times(&shape.mask, element, times(element), out, first);
                }
            }
            ScanKind::Program => {
                let program = self.program(shape.program().expect("a program's shape has one"));
                if times(program.words() as usize) > 0 {
                    program.decode_times(times(program.words() as usize), out, first);
                }
            }
            kind => unreachable!("objects scanned as {kind:?} have no bits"),
        }
    }
}
