//! From an address to the object there, whichever thread has made it. Allocation bits and fresh ranges tell most; where a
//! mutator allocates just now only its cursor tells, and cells that the program freed may wait in the run of one. Then the
//! buffers of all mutators are asked, under the central lock, while their threads go on. Invariant: an object that the
//! calling thread can know of, because it made the object or got its address from a thread that did, is found; a cell that
//! was freed, or not allocated yet, is not.
//!
//! The order in which a mutator stores and another thread loads is in `alloc_buffer` and `run_owners`, and in
//! docs/design/memory-order.md.

use crate::address::{Address, ObjectRef};
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::alloc::owner::Owner;
use crate::layout::shape::ScanKind;
use crate::layout::shape_id::ShapeId;
use crate::pages::page_heap::{Object, PageHeap};
use crate::reclaim::central::Central;
use crate::reclaim::run_owners::RunOwner;
use crate::space::Space;
use crate::spans::page_table::PageEntry;
use crate::spans::span::Span;
use heapwood_pages::PageIndex;

/// An object, and what the heap knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its first byte.
    pub base: ObjectRef,
    /// The bytes that it may use: its cell, or a large object's requested size.
    pub bytes: usize,
    /// Its shape; `None` if only the places of its pointers are known, as in spans that rare types share.
    pub shape: Option<ShapeId>,
    /// No word of it is read as a pointer.
    pub pointer_free: bool,
    /// The program holds it.
    pub held: bool,
}

/// A cell, whether or not an object is there.
#[derive(Clone, Copy)]
struct Place<'h> {
    page: PageIndex,
    entry: PageEntry,
    span: &'h Span,
    cell: usize,
}

/// What allocation bits, fresh range and freed bits say of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Object,
    Nothing,
    /// The mutators' buffers have to be asked.
    Unknown,
}

impl<'h> Place<'h> {
    /// The cell at an address. It finds nothing in arenas, which have no cells.
    fn of(heap: &'h PageHeap, address: Address) -> Option<Self> {
        let (page, entry, span) = heap.spans.find_with_entry(address)?;
        if entry.is(ScanKind::Arena) {
            return None;
        }
        let cell = span.cell_in(address)?.get();
        // The descriptor may be changing, if the pages get another span just now: then no object of the caller's is there.
        let is_inside = heap.spans.address_of(page) <= cell && cell <= address.get();
        is_inside.then_some(Place { page, entry, span, cell })
    }

    /// Whether an object is there, as far as bits and fresh range tell. The freed bit is read last (`PageHeap::is_old_object`).
    fn answer(&self, heap: &PageHeap) -> Answer {
        let is_swept = self.span.observes_swept_in(heap.marks.cycle());
        let fresh = self.span.fresh_range();
        let is_above = is_swept && fresh.start <= self.cell;
        let exists = is_above && self.cell < fresh.end || heap.marks.observes_allocated(self.cell);
        if heap.freed.is_freed(self.cell) || !exists && !is_above {
            return Answer::Nothing;
        }
        match exists {
            true if self.span.has_reused() => Answer::Unknown,
            true => Answer::Object,
            false if self.span.is_held() => Answer::Unknown,
            // Its mutator has given the span up: the frontier is where it ended.
            false if self.span.fresh_range().contains(&self.cell) => Answer::Object,
            false => Answer::Nothing,
        }
    }

    /// The same, exactly.
    fn exists(&self, heap: &PageHeap, central: &mut Central<'_>) -> bool {
        let answer = self.answer(heap);
        if answer != Answer::Unknown {
            return answer == Answer::Object;
        }
        let (shape, start) = (self.span.shape(), self.span.fresh_range().start);
        let mut exists = heap.marks.observes_allocated(self.cell);
        for owner in central.run_owners().iter() {
            // SAFETY: the caller holds the central lock.
            let buffer = unsafe { buffer_of(owner, shape) };
            match buffer.cursor_in(self.page) {
                Some(cursor) => exists |= start <= self.cell && self.cell < cursor && self.is_of_span(cursor),
                None if buffer.is_about_to_reuse(self.cell, || owner.moves()) => return false,
                None => {}
            }
        }
        // A mutator that has just given the span up has set its frontier.
        exists |=
            self.span.observes_swept_in(heap.marks.cycle()) && self.span.fresh_range().contains(&self.cell);
        // One that has put a run back has set the freed bits first.
        exists && !heap.freed.is_freed(self.cell)
    }

    fn is_of_span(&self, cursor: usize) -> bool {
        (self.span.cells_start()..=self.span.cells_end()).contains(&cursor)
    }

    fn object(&self) -> Object {
        Object { base: ObjectRef::new(self.cell), bytes: self.span.object_bytes() }
    }

    fn info(&self, space: &Space) -> ObjectInfo {
        let (shape, kind) = match self.entry.kind() {
            Some(ScanKind::Numbered) => {
                // SAFETY: the object exists, in a span of numbered objects.
                let id = unsafe { space.sweeper.heap.pointer_bits.shape(ObjectRef::new(self.cell)) };
                (Some(id), Some(space.shapes.shape(id).kind()))
            }
            Some(ScanKind::Bits) => (None, Some(ScanKind::Bits)),
            kind => (Some(self.span.shape()), kind),
        };
        let Object { base, bytes } = self.object();
        let held = space.sweeper.heap.held.is_held(self.cell);
        ObjectInfo { base, bytes, shape, pointer_free: kind == Some(ScanKind::NoPointers), held }
    }
}

/// A mutator's buffer of a shape.
///
/// # Safety
/// 1. The caller holds the central lock as long as it uses the buffer, and only asks it where its run is.
unsafe fn buffer_of(owner: &RunOwner, shape: ShapeId) -> &AllocBuffer {
    // SAFETY: shape numbers are below MAX_SHAPES, and each listed mutator has that many buffers, which stay until it leaves
    // the list (contract 1).
    unsafe { &*(owner.buffers() as *const AllocBuffer).add(shape.index()) }
}

impl Space {
    /// The object that `address` points to or into, if it exists, for any thread: it finds each object that the calling thread can
    /// know of. It takes the central lock; [`Owner::find_info`] mostly does not.
    pub fn find_info(&self, address: Address) -> Option<ObjectInfo> {
        let heap = &self.sweeper.heap;
        heap.spans.find(address)?;
        let mut central = self.sweeper.lock();
        let place = Place::of(heap, address)?;
        place.exists(heap, &mut central).then(|| place.info(self))
    }
}

impl Owner<'_> {
    /// The object that `address` points to or into. It finds each object that this thread can know of.
    pub fn find(&self, address: Address) -> Option<Object> {
        self.find_place(address).map(|place| place.object())
    }

    /// The same with what the heap knows of it.
    pub fn find_info(&self, address: Address) -> Option<ObjectInfo> {
        self.find_place(address).map(|place| place.info(self.space))
    }

    fn find_place(&self, address: Address) -> Option<Place<'_>> {
        let heap = self.heap();
        self.publish_span_at(address);
        let place = Place::of(heap, address)?;
        let buffer = self.buffer(place.span.shape());
        let exists = match place.answer(heap) {
            Answer::Object => true,
            Answer::Nothing => false,
            // Of its own span this mutator has just said what exists.
            Answer::Unknown if buffer.span() == Some(place.page) && !place.span.has_reused() => false,
            Answer::Unknown if buffer.has_in_freed_run(place.cell) => false,
            Answer::Unknown => place.exists(heap, &mut self.sweeper().lock()),
        };
        exists.then_some(place)
    }
}
