//! Layouts of few objects: they have no spans of their own, of which most would be empty, but share mixed spans of
//! their size class, where each object's pointer bits say what it is. A layout gets spans of its own once it has filled
//! one within a cycle, and keeps to them as long as it has any. Invariant: a layout's count is that of the objects that
//! went to mixed spans in this cycle, up to those of a span, or [`OWN`].

use crate::bump::Bumps;
use crate::pointer_bits::or_mask;
use crate::programs::ProgramId;
use crate::refused::Refused;
use crate::shape::{MAX_SHAPES, ScanKind, Shape, ShapeId, WELL_KNOWN};
use crate::space::Space;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::{KernelRef, MappedArray, OsError};

/// The layout has spans of its own.
const OWN: u32 = u32::MAX;

/// How many objects of each layout went to mixed spans.
pub(crate) struct Rare {
    counts: MappedArray<AtomicU32>,
}

impl Rare {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let counts = MappedArray::new(kernel, MAX_SHAPES)?;
        counts.commit(0..MAX_SHAPES)?;
        Ok(Rare { counts })
    }

    fn count(&self, id: ShapeId) -> &AtomicU32 {
        // SAFETY: all counts are committed, and shape numbers are below MAX_SHAPES.
        unsafe { &*self.counts.at(id.index()) }
    }

    /// A cycle ends, after which the layout has spans of its own or not.
    pub(crate) fn new_cycle(&self, id: ShapeId, has_spans: bool) {
        self.count(id).store(if has_spans { OWN } else { 0 }, Ordering::Relaxed);
    }
}

impl Space {
    /// Whether the next object of the shape goes to a mixed span; counts it if so.
    pub(crate) fn is_rare(&self, id: ShapeId, shape: &Shape) -> bool {
        if id.0 < WELL_KNOWN || !shape.may_be_rare() {
            return false;
        }
        let count = self.rare.count(id);
        let so_far = count.load(Ordering::Relaxed);
        if so_far == OWN {
            return false;
        }
        let cells = shape.class().map_or(0, |class| class.span_cells());
        // Two threads may count one object; it does not matter which of them is the last in a mixed span.
        count.store(if so_far as usize + 1 >= cells { OWN } else { so_far + 1 }, Ordering::Relaxed);
        true
    }

    /// Gives the bump of a rare shape one cell of a mixed span, zero and with the layout's pointer bits. The cell counts
    /// as an object from now on, one of zeros until it is used.
    pub(crate) fn refill_rare(&self, bumps: &Bumps, id: ShapeId, shape: &Shape) -> Result<(), Refused> {
        let class = shape.class().expect("refill is asked for shapes with a size class");
        let (size, mixed) = (class.cell_size(), ShapeId::mixed(class));
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
        unsafe {
            self.pointer_bits.write(addr..addr + size, |bits, at| self.write_bits(shape, bits, at, size / 8))
        };
        from.commit(cell, size);
        let bump = bumps.get(id);
        bump.cell_size.set(size as u32);
        bump.set_run(addr, addr + size);
        Ok(())
    }

    /// Sets the bits of an object's pointers among `words` words, the first of them at bit `at`; they are zero before.
    fn write_bits(&self, shape: &Shape, out: &mut [u64], at: usize, words: usize) {
        let (first, end) = (at + shape.header as usize, at + words);
        match shape.kind() {
            ScanKind::Mask => or_mask(out, at, &shape.mask[..1], end),
            ScanKind::WideMask => or_mask(out, at, &shape.mask, end),
            ScanKind::Slice => {
                // Short elements several at a time, as many as fit a word of bits.
                let element = shape.words as usize;
                let at_once = (64 / element).max(1);
                let mut mask = shape.mask;
                for k in 1..at_once {
                    mask[0] |= shape.mask[0] << (k * element);
                }
                let whole = first + (end - first) / element * element;
                for first in (first..whole).step_by(at_once * element) {
                    or_mask(out, first, &mask, whole);
                }
            }
            ScanKind::Program => {
                let program = self.programs.program(ProgramId::from_index(shape.mask[0] as usize));
                let element = program.words() as usize;
                for first in (first..(end + 1).saturating_sub(element)).step_by(element) {
                    program.decode(out, first);
                }
            }
            _ => {}
        }
    }
}
