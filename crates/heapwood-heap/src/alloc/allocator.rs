//! The base that all mutators of a heap allocate from: the sweeper and the shapes. Invariant: the span of an allocation
//! buffer is of the buffer's shape, swept, and on no list.

use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::chain::chain;
use crate::alloc::runs::free_run;
use crate::config::SpaceConfig;
use crate::error::Refusal;
use crate::layout::shape::{Scan, ScanKind, SmallShape};
use crate::layout::shape_id::ShapeId;
use crate::layout::shapes::Shapes;
use crate::reclaim::sweeper::Sweeper;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_layout::{Layout, WORD};
use heapwood_os::{KernelRef, OsError};
use heapwood_pages::PageIndex;

/// The sweeper and the shapes of a heap.
pub(crate) struct Allocator {
    sweeper: Sweeper,
    shapes: Shapes,
    /// Whether shapes with trace functions exist.
    traces: AtomicBool,
    /// Whether shapes exist whose words may be pointers and may be anything.
    is_conservative: AtomicBool,
    /// Runs have one cell only.
    single_cells: bool,
    always_shared: AtomicBool,
}

impl Allocator {
    pub(crate) fn new(kernel: KernelRef, config: &SpaceConfig) -> Result<Self, OsError> {
        let sweeper = Sweeper::new(kernel, config)?;
        Ok(Allocator {
            shapes: Shapes::new(kernel, |shapes| sweeper.commit_shapes(shapes))?,
            sweeper,
            traces: AtomicBool::new(false),
            is_conservative: AtomicBool::new(false),
            single_cells: config.single_cells,
            always_shared: AtomicBool::new(false),
        })
    }

    /// The sweeper, which supplies spans.
    #[inline(always)]
    pub(crate) fn sweeper(&self) -> &Sweeper {
        &self.sweeper
    }

    /// The shapes.
    #[inline(always)]
    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Registers the shape of objects of `bytes` bytes that are scanned as `scan` says.
    pub(crate) fn shape_for(&self, bytes: usize, scan: Scan) -> Result<ShapeId, Refusal> {
        match scan {
            Scan::Layout(Layout::Trace(_)) | Scan::Trace { .. } => self.traces.store(true, Ordering::Relaxed),
            Scan::Layout(Layout::Conservative) | Scan::AmbiguousMask(_) | Scan::AmbiguousPrefix(_) => {
                self.is_conservative.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
        self.shapes.register(bytes, scan, |shapes| self.sweeper.commit_shapes(shapes))
    }

    /// Whether shapes with trace functions exist. Only these functions know what the words of their objects mean.
    #[inline(always)]
    pub(crate) fn has_trace_functions(&self) -> bool {
        self.traces.load(Ordering::Relaxed)
    }

    /// Whether shapes exist whose words may be pointers and may be anything.
    pub(crate) fn is_conservative(&self) -> bool {
        self.is_conservative.load(Ordering::Relaxed)
    }

    /// Whether runs have one cell only.
    #[inline]
    pub(crate) fn has_single_cells(&self) -> bool {
        self.single_cells
    }

    /// Sets whether all layouts without spans of their own use shared spans from now on.
    pub(crate) fn set_always_shared(&self, on: bool) {
        self.always_shared.store(on, Ordering::Relaxed);
    }

    /// Moves `buffer` to the next run of free cells of its span, which begins at `page`; false if there is none. The
    /// cells are zero where they may hold pointers, unless each is written as a `whole`.
    #[inline]
    pub(crate) fn next_run(
        &self,
        buffer: &AllocBuffer,
        page: PageIndex,
        shape: SmallShape<'_>,
        whole: bool,
    ) -> bool {
        let (heap, class) = (self.sweeper.heap(), shape.size_class());
        let span = heap.spans().own(page);
        let mut run = free_run(heap.marks(), class, buffer.limit()..span.cells_end());
        if run.is_empty() {
            return false;
        }
        if self.has_single_cells() {
            run.end = run.start + class.cell_size();
        }
        debug_assert!(run.len().is_multiple_of(class.cell_size()));
        if self.must_zero(shape, whole) && !span.is_fresh() {
            // SAFETY: the run's cells are free, and this thread owns the span.
            unsafe { (run.start as *mut u8).write_bytes(0, run.len()) };
        }
        buffer.set_run(run);
        true
    }

    /// Moves `buffer` to the next run of free cells of its span, as [`next_run`](Self::next_run), of at most `bytes` bytes or one cell.
    /// The first word of each cell holds the address of the next one, that of the last 0; other words are zero where they may
    /// hold pointers. Both in one pass.
    pub(crate) fn next_chain(
        &self,
        buffer: &AllocBuffer,
        page: PageIndex,
        shape: SmallShape<'_>,
        bytes: usize,
    ) -> bool {
        let (heap, class) = (self.sweeper.heap(), shape.size_class());
        let span = heap.spans().own(page);
        let mut run = free_run(heap.marks(), class, buffer.limit()..span.cells_end());
        if run.is_empty() {
            return false;
        }
        let most = if self.has_single_cells() { 1 } else { (bytes / class.cell_size()).max(1) };
        run.end = run.end.min(run.start + most * class.cell_size());
        // SAFETY: the run's cells are free, and this thread owns the span.
        unsafe { chain(run.clone(), class.cell_size(), self.must_zero(shape, false) && !span.is_fresh()) };
        buffer.set_run(run);
        true
    }

    /// Whether free cells must be zero before they are allocated.
    #[inline]
    fn must_zero(&self, shape: SmallShape<'_>, whole: bool) -> bool {
        match shape.kind() {
            ScanKind::NoPointers => false,
            ScanKind::Pair | ScanKind::Mask | ScanKind::WideMask => !whole,
            // The room behind a value may look like another value.
            ScanKind::Program => !(whole && self.is_one_value(shape)),
            ScanKind::Slice
            | ScanKind::Conservative
            | ScanKind::AmbiguousMask
            | ScanKind::AmbiguousPrefix
            | ScanKind::Trace
            | ScanKind::Bits
            | ScanKind::Numbered
            | ScanKind::Ephemeron
            | ScanKind::Arena => true,
        }
    }

    /// Whether a cell of a program's shape has one element and no room for another.
    fn is_one_value(&self, shape: SmallShape<'_>) -> bool {
        // SAFETY: the shape was looked up here.
        let Some(nest) = (unsafe { self.shapes.nest_of(&shape) }) else { return false };
        shape.header == 0 && nest.words() > shape.cell_size as u64 / WORD as u64 / 2
    }

    /// Whether the next object of the shape goes to a shared span; counts the object if so.
    pub(crate) fn shares(&self, id: ShapeId, shape: SmallShape<'_>) -> bool {
        if id.is_well_known() || shape.per_object().is_none() {
            return false;
        }
        let (demand, cycle) = (self.sweeper.demand(), self.sweeper.heap().marks().full_cycle());
        if !demand.has_begun(id, cycle) {
            // Updating the lists also updates the demand of the layout.
            self.sweeper.begin_demand(id);
        }
        if self.always_shared.load(Ordering::Relaxed) {
            return demand.shares(id, cycle, None);
        }
        demand.shares(id, cycle, Some(shape.size_class().span_cells()))
    }
}
