//! A space without a collector: a test allocates, chooses the live objects and marks them. The walker must find no violation
//! after every cycle.

use heapwood_heap::{
    Address, AllocBuffer, Collection, MAX_OWN_SHAPES, MAX_SHAPES, Owner, Refusal, Scan, ShapeId, SizeClass,
    Space, SpaceConfig, SpaceError, Stopped, ThreadCache, ValidationError,
};
use heapwood_layout::program::Builder;
use heapwood_layout::{Layout, TypeDescriptor};
use heapwood_os::{MappedArray, SYSTEM};
use heapwood_pages::{Effort, PAGE_SIZE, PageCount, PageIndex, ScavengePolicy};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const CONFIG: SpaceConfig = SpaceConfig {
    reservation: 64 << 20,
    most: None,
    limit: None,
    huge_pages: false,
    clobber: false,
    keep_freed: false,
    protect_arenas: None,
    single_cells: false,
};

/// A space and its only mutator.
pub(crate) struct Heap {
    pub(crate) space: Space,
    memory: MappedArray<AllocBuffer>,
    local: MappedArray<ThreadCache>,
}

impl Heap {
    pub(crate) fn new(config: SpaceConfig) -> Self {
        let space = Space::new(&SYSTEM, config).unwrap();
        let memory = MappedArray::new(&SYSTEM, MAX_SHAPES).unwrap();
        memory.commit(0..MAX_SHAPES).unwrap();
        let local = MappedArray::new(&SYSTEM, 1).unwrap();
        local.commit(0..1).unwrap();
        Heap { space, memory, local }
    }

    pub(crate) fn owner(&self) -> Owner<'_> {
        let first = core::ptr::NonNull::new(self.memory.as_ptr()).unwrap();
        // SAFETY: the memory is zeroed and long enough, both live as long as this, and the test has one thread.
        unsafe { self.space.owner(first, &*self.local.at(0)) }
    }

    pub(crate) fn stopped(&self) -> Stopped<'_> {
        // SAFETY: the mutator belongs to this thread, which does nothing else meanwhile; tokens are dropped at once.
        unsafe { self.space.stopped() }
    }

    fn find(&self, address: usize) -> Option<(usize, usize)> {
        self.space.find(Address::new(address)).map(|o| (o.base.get(), o.bytes))
    }

    pub(crate) fn shape(&self, bytes: usize, descriptor: TypeDescriptor) -> ShapeId {
        self.space.shape_for(bytes, Scan::Layout(descriptor.layout())).unwrap()
    }

    pub(crate) fn allocate(&self, shape: ShapeId, bytes: usize) -> Result<usize, SpaceError> {
        let Some(class) = SizeClass::of(bytes) else {
            let large = self.owner().take_large(shape, bytes, false)?;
            large.zero();
            return Ok(large.finish().as_ptr() as usize);
        };
        let (owner, cell) = (self.owner(), class.cell_size());
        let buffer = owner.buffer(shape);
        if buffer.peek(cell).is_none() {
            owner.refill(shape, false)?;
        }
        let object = buffer.peek(cell).unwrap();
        // SAFETY: `peek` has just returned the cell, which is zero where it has pointers.
        unsafe { buffer.commit(object, cell) };
        Ok(object.as_ptr() as usize)
    }

    /// Checks everything that can be recomputed.
    pub(crate) fn check(&self) -> Result<(), ValidationError> {
        self.owner().publish();
        self.check_parts();
        self.stopped().is_valid([self.owner()].into_iter())
    }

    /// The parts of the memory add up to what the page allocator counts, and to the objects that exist.
    fn check_parts(&self) {
        let parts = self.stopped().parts([self.owner()].into_iter());
        assert_eq!((parts.total(), parts.backed), (parts.backed, self.space.memory().resident_bytes()));
        for class in &parts.classes {
            assert_eq!(class.total(), class.bytes, "{class:?}");
        }
        let (of_spans, mut objects) = (parts.of_spans(), 0);
        self.stopped().for_each_object(|object, bytes| {
            let is_arena = self.space.arenas().find_chunk(object.into()).is_some();
            objects += if is_arena { 0 } else { bytes };
        });
        assert_eq!(of_spans.old + of_spans.young, objects);
    }

    /// A stopped full marking with these live objects.
    pub(crate) fn cycle(&self, live: impl Iterator<Item = usize>) {
        self.cycle_of(Collection::Full, live);
    }

    /// A stopped young marking with these live objects, of which it marks those that are young.
    pub(crate) fn young_cycle(&self, live: impl Iterator<Item = usize>) {
        self.cycle_of(Collection::Young, live.filter(|&object| !self.space.is_old(Address::new(object))));
    }

    /// A stopped marking with these live objects.
    fn cycle_of(&self, of: Collection, live: impl Iterator<Item = usize>) {
        self.space.finish_sweep();
        self.owner().publish();
        let stopped = self.stopped();
        let marks = stopped.mark_side(of);
        for object in live {
            // SAFETY: objects of this space; one thread.
            assert!(unsafe { marks.set(object) }, "marked twice");
        }
        stopped.end_marking(of, std::iter::once_with(|| self.owner()), usize::MAX, 0);
    }

    /// A young collection by promotion, without marking.
    pub(crate) fn promote(&self) {
        self.space.finish_sweep();
        self.owner().publish();
        let stopped = self.stopped();
        stopped.promote(std::iter::once_with(|| self.owner()));
        stopped.end_marking(Collection::Young, std::iter::once_with(|| self.owner()), usize::MAX, 0);
    }

    pub(crate) fn objects(&self) -> BTreeMap<usize, usize> {
        let mut found = BTreeMap::new();
        self.owner().publish();
        self.stopped().for_each_object(|object, bytes| {
            assert_eq!(found.insert(object.get(), bytes), None);
        });
        found
    }
}

pub(crate) fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 20) as usize
}

#[test]
fn only_cells_that_are_not_written_whole_are_zeroed() {
    let heap = Heap::new(SpaceConfig { clobber: true, ..CONFIG });
    let shape = heap.shape(32, TypeDescriptor::masked(32, &[1]).unwrap());
    let conservative = heap.shape(32, TypeDescriptor::conservative(32).unwrap());
    let kept = heap.allocate(shape, 32).unwrap();
    let kept_too = heap.allocate(conservative, 32).unwrap();
    // A value of 300 words; the same after a header; and one that fits twice into a cell of that size.
    let programs = [(300u64, 0), (300, 1), (150, 0)].map(|(words, header)| {
        let program = Builder::<32>::new().scalars(words - 1).pointer().finish();
        let program = heap.space.layouts().register_program(program.program()).unwrap();
        heap.space.shape_for(2400, Scan::Program { header, program }).unwrap()
    });
    let class = SizeClass::of(2400).unwrap();
    let mut kept: Vec<usize> = vec![kept, kept_too];
    for shape in programs {
        // The last has a span of its own.
        kept.extend((0..2 * class.span_cells()).map(|_| heap.allocate(shape, 2400).unwrap()).last());
    }
    heap.owner().flush();
    heap.cycle(kept.into_iter());
    for (shape, cell, whole, wanted) in [
        (shape, 32, true, 0xDB),
        (conservative, 32, true, 0),
        (programs[0], class.cell_size(), true, 0xDB),
        (programs[0], class.cell_size(), false, 0),
        (programs[1], class.cell_size(), true, 0),
        (programs[2], class.cell_size(), true, 0),
    ] {
        let buffer = heap.owner().buffer(shape);
        if let Some(rest) = buffer.peek(cell) {
            // Uses up the run of the previous refill. SAFETY: this is all its room, and no marking will read it.
            unsafe { buffer.commit(rest, buffer.room()) };
        }
        heap.owner().refill(shape, whole).unwrap();
        // SAFETY: the run has a cell.
        assert_eq!(unsafe { *buffer.peek(cell).unwrap().as_ptr() }, wanted);
    }
}

/// Review of the core, bug 2: 40 MiB of half-dead objects of one shape, while another shape has everything swept. The
/// heap had to grow by as much as the first shape then allocated.
#[test]
fn spans_that_are_partly_free_are_used_after_everything_was_swept() {
    let heap = Heap::new(CONFIG);
    let (small, other) = (ShapeId::no_pointers(SizeClass::of(64)), ShapeId::no_pointers(SizeClass::of(512)));
    let objects: Vec<usize> = (0..(40 << 20) / 64).map(|_| heap.allocate(small, 64).unwrap()).collect();
    heap.cycle(objects.iter().copied().step_by(2));
    for _ in 0..(2 << 20) / 512 {
        heap.allocate(other, 512).unwrap();
    }
    heap.space.finish_sweep();
    let grown = heap.space.stats().grown;
    for _ in 0..(18 << 20) / 64 {
        heap.allocate(small, 64).unwrap();
    }
    assert_eq!(heap.space.stats().grown, grown);
    heap.owner().flush();
    heap.check().unwrap();
}

/// Review of the core, bug 7: the next mutator uses, without a charge, the cells that a leaving thread has not used.
#[test]
fn unused_cells_of_a_mutator_are_used_by_others_and_not_charged() {
    let heap = Heap::new(CONFIG);
    let shapes = [16, 48, 64].map(|bytes| (ShapeId::no_pointers(SizeClass::of(bytes)), bytes));
    let mut all = std::collections::BTreeSet::new();
    for thread in 0..1000 {
        for (shape, bytes) in shapes {
            for _ in 0..thread % 5 {
                assert!(all.insert(heap.allocate(shape, bytes).unwrap()), "allocated twice");
            }
        }
        heap.owner().flush();
    }
    heap.check().unwrap();
    let bytes = 2000 * (16 + 48 + 64);
    assert_eq!(heap.space.stats().allocated_in_cycle, bytes);
    assert_eq!(heap.space.stats().total_allocated, bytes as u64);
    assert!(heap.space.stats().in_use <= bytes + 3 * 8192, "{}", heap.space.stats().in_use);
    assert_eq!(heap.objects().len(), all.len());
    // The same with survivors between the free cells.
    let kept: Vec<usize> = all.iter().copied().step_by(3).collect();
    heap.cycle(kept.iter().copied());
    let free = all.len() - kept.len();
    let mut made = 0;
    for _ in 0..free / 6 {
        for (shape, bytes) in shapes {
            assert!(!kept.contains(&heap.allocate(shape, bytes).unwrap()));
            made += 1;
        }
        heap.owner().flush();
    }
    heap.space.finish_sweep();
    heap.check().unwrap();
    assert_eq!(heap.objects().len(), kept.len() + made);
    assert!(heap.space.stats().in_use <= bytes + 6 * 8192, "{}", heap.space.stats().in_use);
}

/// Pages of a large object that is being zeroed are in no span yet; a collection may come between.
#[test]
fn a_collection_may_come_before_a_large_object_is_finished() {
    let heap = Heap::new(CONFIG);
    let shape = heap.shape(1 << 20, TypeDescriptor::masked(1 << 20, &[1]).unwrap());
    for round in 0..3 {
        let dirty = heap.allocate(shape, 1 << 20).unwrap();
        // SAFETY: the object is new and has this size.
        unsafe { (dirty as *mut u8).write_bytes(0xEE, 1 << 20) };
        heap.cycle(core::iter::empty());
        heap.space.finish_sweep();
        let large = heap.owner().take_large(shape, 1 << 20, false).unwrap();
        assert_eq!(large.bytes_to_zero(), 1 << 20, "the pages were used before");
        heap.check().unwrap();
        heap.cycle(core::iter::empty());
        large.zero();
        heap.space.finish_sweep();
        heap.check().unwrap();
        let object = large.finish().as_ptr() as usize;
        // SAFETY: as above.
        let words = unsafe { core::slice::from_raw_parts(object as *const u64, 1 << 17) };
        assert!(words.iter().all(|&w| w == 0));
        assert_eq!(heap.find(object + 99).map(|(base, _)| base), Some(object), "round {round}");
        heap.check().unwrap();
        heap.cycle([object].into_iter());
        assert_eq!(heap.objects().len(), 1);
        heap.cycle(core::iter::empty());
        heap.space.finish_sweep();
        assert_eq!(heap.space.stats().in_use, 0);
    }
}

/// A mutator takes large objects on credit and the program frees them. Both are settled together, and the whole budget
/// is available again.
#[test]
fn a_freed_large_object_is_refunded_to_the_budget() {
    let heap = Heap::new(CONFIG);
    heap.space.set_budget(4 << 20);
    let shape = ShapeId::no_pointers(None);
    for _ in 0..1000 {
        let objects: Vec<usize> = (0..30).map(|_| heap.allocate(shape, 100_000).unwrap()).collect();
        for object in objects {
            // SAFETY: no thread uses it.
            unsafe { heap.owner().free(Address::new(object), false) }.unwrap();
        }
    }
    let stats = heap.space.stats();
    // The total counts all allocations, freed or not.
    let all = 1000 * 30 * 100_000usize.next_multiple_of(PAGE_SIZE);
    assert_eq!((stats.allocated_in_cycle, stats.total_allocated, stats.small_allocated), (0, all as u64, 0));
    heap.owner().flush();
    heap.check().unwrap();
    assert_eq!(heap.space.stats().in_use, 0);
}

/// No request is refused while the mutator caches enough pages: those for spans serve a large object at last.
#[test]
fn cached_pages_are_used_before_an_object_is_refused() {
    let heap = Heap::new(SpaceConfig { reservation: 16 << 20, ..CONFIG });
    heap.space.set_goal(16 << 20);
    let small = heap.shape(64, TypeDescriptor::no_pointers(64).unwrap());
    // The first refill sets the share, which bounds the pages that are cached with the next span.
    for _ in 0..2 * PAGE_SIZE / 64 {
        heap.allocate(small, 64).unwrap();
    }
    assert!(heap.owner().held_bytes() > 40 * PAGE_SIZE, "{} bytes", heap.owner().held_bytes());
    let bytes = 8 * PAGE_SIZE;
    let large = (0..1000).take_while(|_| heap.allocate(ShapeId::no_pointers(None), bytes).is_ok()).count();
    let left = (16 << 20) - large * bytes;
    assert!(left < 3 * bytes, "refused with {left} bytes left");
    heap.check().unwrap();
}

/// A child forked while the parent's background thread released memory has no such thread. That release never ends in
/// the child, and no thread may wait for it forever.
#[test]
fn a_release_that_never_ends_blocks_no_thread() {
    let heap = Heap::new(CONFIG);
    let (shape, bytes) = (ShapeId::no_pointers(None), 3 << 20);
    heap.allocate(shape, bytes).unwrap();
    heap.cycle(core::iter::empty());
    heap.space.finish_sweep();
    let policy = ScavengePolicy { most: PageCount(512), huge_pages: false };
    let mut allocated = false;
    // SAFETY: the released pages are free again at the end.
    let pages = unsafe { heap.space.memory().pages() };
    pages.scavenge(Effort::Full, policy, |_, _| {
        assert!(pages.is_releasing());
        allocated = heap.allocate(shape, bytes).is_ok();
        true
    });
    assert!(allocated);
    heap.check().unwrap();
}

#[test]
fn types_share_shapes_until_there_are_too_many() {
    let heap = Heap::new(CONFIG);
    let of = |bytes: usize, mask: u64| {
        let d = TypeDescriptor::masked(bytes, &[mask]).unwrap();
        heap.space.shape_for(bytes, Scan::Layout(d.layout()))
    };
    assert_eq!(of(33 * 8, 1), of(34 * 8, 1));
    assert_ne!(of(33 * 8, 1), of(33 * 8, 2));
    assert_eq!(of(16, 3).ok(), ShapeId::well_known(16, &[3, 0, 0, 0]));
    assert_eq!(
        heap.space.shape_for(50, Scan::Layout(Layout::NoPointers)).ok(),
        ShapeId::well_known(50, &[0; 4])
    );
    let mut masks = 1..;
    let last = masks.find(|&mask| of(20 * 8, mask) == Err(Refusal::ManyShapes)).unwrap();
    // The two above, and the masks below the last.
    assert_eq!(2 + (last as usize - 1), MAX_OWN_SHAPES);
    assert!(
        Refusal::ManyShapes.to_string().contains(&format!("more than {MAX_OWN_SHAPES} different layouts"))
    );
    assert_eq!(heap.space.layouts().shape_count() as usize, MAX_SHAPES);
    assert!(of(20 * 8, 1).is_ok(), "those that exist are still found");
}

/// A heap refuses the shapes and programs of another heap with a message, and reads no memory outside its tables.
#[test]
fn numbers_of_another_heap_are_refused() {
    let (heap, other) = (Heap::new(CONFIG), Heap::new(CONFIG));
    let shape = other.shape(160, TypeDescriptor::masked(160, &[5]).unwrap());
    let program = Builder::<32>::new().scalars(299).pointer().finish();
    let program = other.space.layouts().register_program(program.program()).unwrap();
    let refused = |what: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(what)).unwrap_err();
        panic.downcast_ref::<String>().map_or(String::new(), Clone::clone)
    };
    let foreign: [&dyn Fn(); 6] = [
        &|| _ = heap.space.layouts().shape(shape).kind(),
        &|| _ = heap.owner().refill(shape, false),
        &|| _ = heap.owner().take_large(shape, 1 << 20, false),
        &|| _ = heap.space.layouts().program(program).words(),
        &|| _ = heap.space.layouts().nest(program).words(),
        &|| _ = heap.space.shape_for(2400, Scan::Program { header: 0, program }),
    ];
    for (k, what) in foreign.iter().enumerate() {
        let said = refused(what);
        assert!(said.contains("is another heap's"), "{k}: {said}");
    }
    let small = ShapeId::no_pointers(SizeClass::of(64));
    assert!(refused(&|| _ = heap.owner().take_large(small, 1 << 20, false)).contains("have cells"));
    assert!(refused(&|| _ = heap.space.span(PageIndex(1 << 40))).contains("outside the heap"));
    assert!(!heap.owner().continue_run(shape, false));
    heap.check().unwrap();
}

/// A cell of a shared span that a refill brought and no object used is free after a cycle: its span may be made anew.
#[test]
fn an_unused_cell_is_not_allocated_twice() {
    let heap = Heap::new(CONFIG);
    let rare = |mask| heap.shape(96, TypeDescriptor::masked(96, &[mask]).unwrap());
    let (first, second) = (rare(0b1010), rare(0b1001));
    heap.owner().refill(first, false).unwrap();
    for _ in 0..3 {
        heap.cycle(core::iter::empty());
    }
    heap.space.finish_sweep();
    let mut all = std::collections::BTreeSet::new();
    for _ in 0..40 {
        assert!(all.insert(heap.allocate(second, 96).unwrap()));
    }
    assert!(all.insert(heap.allocate(first, 96).unwrap()), "allocated twice");
    heap.check().unwrap();
}
