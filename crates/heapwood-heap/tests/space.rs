//! A space without a collector: the test allocates, decides itself what lives, marks that, and compares what exists
//! afterwards with a plain list. The walker must be content after every cycle, and object when something is wrong.

use heapwood_heap::shapes::MAX_OWN;
use heapwood_heap::{
    Bump, Bumps, GRANULE, Local, MAX_SHAPES, MAX_SMALL, Refused, Scan, ScanKind, ShapeId, ShapeRefused,
    SizeClass, Space, SpaceConfig,
};
use heapwood_layout::program::Builder;
use heapwood_layout::{Layout, TypeDescriptor};
use heapwood_os::{MappedArray, SYSTEM};
use heapwood_pages::{Effort, PageCount, ReleasePolicy};
use std::collections::BTreeMap;

const CONFIG: SpaceConfig = SpaceConfig {
    window: 64 << 20,
    most: None,
    limit: None,
    huge_pages: false,
    clobber: false,
    single_cells: false,
};

struct Owner {
    space: Space,
    memory: MappedArray<Bump>,
    local: Local,
}

impl Owner {
    fn new(config: SpaceConfig) -> Self {
        let space = Space::new(&SYSTEM, config).unwrap();
        let memory = MappedArray::new(&SYSTEM, MAX_SHAPES).unwrap();
        memory.commit(0..MAX_SHAPES).unwrap();
        Owner { space, memory, local: Local::default() }
    }

    fn bumps(&self) -> Bumps {
        let first = core::ptr::NonNull::new(self.memory.as_ptr()).unwrap();
        // SAFETY: the array is zeroed, as long as it must be, and both live as long as this.
        unsafe { Bumps::new(first, core::ptr::NonNull::from(&self.local)) }
    }

    fn shape(&self, bytes: usize, descriptor: TypeDescriptor) -> ShapeId {
        self.space.shape_for(bytes, Scan::Layout(descriptor.layout())).unwrap()
    }

    fn allocate(&self, shape: ShapeId, bytes: usize) -> Result<usize, Refused> {
        let Some(class) = SizeClass::of(bytes) else {
            return Ok(self.space.allocate_large(shape, bytes, false)?.as_ptr() as usize);
        };
        let (bumps, cell) = (self.bumps(), class.cell_size());
        let bump = bumps.get(shape);
        if bump.peek(cell).is_none() {
            self.space.refill(&bumps, shape, false)?;
        }
        let object = bump.peek(cell).unwrap();
        bump.commit(object, cell);
        Ok(object.as_ptr() as usize)
    }

    /// A stopped marking that finds `live`.
    fn cycle(&self, live: impl Iterator<Item = usize>) {
        self.space.flush(&self.bumps());
        self.space.finish_sweep();
        let marker = self.space.marks().marker();
        for object in live {
            // SAFETY: objects of this space; one thread.
            assert!(unsafe { marker.set(object) }, "marked twice");
        }
        self.space.end_marking(usize::MAX);
    }

    fn objects(&self) -> BTreeMap<usize, usize> {
        let mut found = BTreeMap::new();
        self.space.for_each_object(|base, bytes| {
            assert_eq!(found.insert(base, bytes), None);
        });
        found
    }
}

fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 20) as usize
}

fn kinds(owner: &Owner) -> Vec<(ShapeId, usize)> {
    let masked = |bytes, mask: &[u64]| (bytes, TypeDescriptor::masked(bytes, mask).unwrap());
    let plain = |bytes| (bytes, TypeDescriptor::no_pointers(bytes).unwrap());
    [
        masked(16, &[3]),
        masked(32, &[5]),
        masked(48, &[1]),
        masked(800, &[0, 1 << 20]),
        masked(MAX_SMALL + 8, &[1]),
        plain(1),
        plain(200),
        plain(5000),
        plain(MAX_SMALL),
        plain(MAX_SMALL + 1),
        plain(100_000),
    ]
    .map(|(bytes, d)| (owner.shape(bytes, d), bytes))
    .to_vec()
}

/// Random cycles; `keep` of 8 objects live on.
fn play(config: SpaceConfig, seed: u64, keep: usize) {
    let owner = Owner::new(config);
    let kinds = kinds(&owner);
    let mut state = seed * 2 + 1;
    let mut live: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for cycle in 0..30 {
        for _ in 0..random(&mut state) % 1500 {
            let (shape, bytes) = kinds[match random(&mut state) % 40 {
                39 => 8 + random(&mut state) % 3,
                38 => 4,
                n => [0, 0, 1, 2, 3, 5, 6, 7][n % 8],
            }];
            let object = owner.allocate(shape, bytes).unwrap();
            let reach = SizeClass::of(bytes).map_or(bytes, SizeClass::cell_size);
            assert!(object.is_multiple_of(GRANULE));
            let next = live.range(object..).next();
            assert!(next.is_none_or(|(&at, _)| object + reach <= at), "overlaps the next");
            let last = live.range(..=object).next_back();
            assert!(last.is_none_or(|(&at, &(_, reach))| at + reach <= object), "overlaps the one before");
            let kind = owner.space.shape(shape).kind();
            if kind != ScanKind::NoPointers {
                // SAFETY: the object is new and this large.
                let words = unsafe { core::slice::from_raw_parts(object as *const u64, bytes / 8) };
                assert!(words.iter().all(|&w| w == 0), "a new object is not zero");
            }
            // SAFETY: as above.
            unsafe { (object as *mut u8).write_bytes(0xEE, bytes) };
            let found = owner.space.find_own(&owner.bumps(), object + bytes - 1).unwrap();
            assert_eq!((found.base, found.bytes), (object, reach));
            live.insert(object, (bytes, reach));
        }
        live.retain(|_, _| random(&mut state) % 8 < keep);
        owner.cycle(live.keys().copied());
        if cycle % 3 == 2 {
            owner.space.finish_sweep();
            owner.space.is_valid().unwrap();
            let wanted: BTreeMap<usize, usize> = live.iter().map(|(&at, &(_, reach))| (at, reach)).collect();
            assert_eq!(owner.objects(), wanted);
        }
        for (&object, &(bytes, reach)) in &live {
            assert_eq!(
                owner.space.find(object + bytes / 2).map(|o| (o.base, o.bytes)),
                Some((object, reach))
            );
            // SAFETY: the object lives.
            let contents = unsafe { core::slice::from_raw_parts(object as *const u8, bytes) };
            assert!(contents.iter().all(|&b| b == 0xEE), "contents changed");
        }
    }
    owner.cycle(core::iter::empty());
    owner.space.finish_sweep();
    owner.space.is_valid().unwrap();
    assert_eq!(owner.objects().len(), 0);
    assert_eq!(owner.space.figures().in_use, 0);
}

#[test]
fn what_was_marked_exists_and_nothing_else() {
    for seed in 1..=10 {
        play(CONFIG, seed, 1);
        play(CONFIG, seed, 4);
        play(CONFIG, seed, 7);
    }
}

#[test]
fn the_same_with_clobbering_and_single_cells() {
    for seed in 1..=4 {
        play(SpaceConfig { clobber: true, ..CONFIG }, seed, 4);
        play(SpaceConfig { clobber: true, single_cells: true, ..CONFIG }, seed, 4);
    }
}

#[test]
fn cells_written_whole_are_not_zeroed_first_but_others_are() {
    let owner = Owner::new(SpaceConfig { clobber: true, ..CONFIG });
    let shape = owner.shape(32, TypeDescriptor::masked(32, &[1]).unwrap());
    let conservative = owner.shape(32, TypeDescriptor::conservative(32).unwrap());
    let kept = owner.allocate(shape, 32).unwrap();
    let kept_too = owner.allocate(conservative, 32).unwrap();
    // A value of 300 words; the same behind a header; and one of which a cell of that size has room for two.
    let programs = [(300u64, 0), (300, 1), (150, 0)].map(|(words, header)| {
        let program = Builder::<32>::new().scalars(words - 1).pointer().finish();
        let program = owner.space.register_program(program.program()).unwrap();
        owner.space.shape_for(2400, Scan::Program { header, program }).unwrap()
    });
    let class = SizeClass::of(2400).unwrap();
    let mut kept: Vec<usize> = vec![kept, kept_too];
    for shape in programs {
        // The last has a span of its own.
        kept.extend((0..2 * class.span_cells()).map(|_| owner.allocate(shape, 2400).unwrap()).last());
    }
    owner.cycle(kept.into_iter());
    for (shape, cell, whole, wanted) in [
        (shape, 32, true, 0xDB),
        (conservative, 32, true, 0),
        (programs[0], class.cell_size(), true, 0xDB),
        (programs[0], class.cell_size(), false, 0),
        (programs[1], class.cell_size(), true, 0),
        (programs[2], class.cell_size(), true, 0),
    ] {
        let bumps = owner.bumps();
        let bump = bumps.get(shape);
        if let Some(rest) = bump.peek(cell) {
            // Uses up the run that the refill before this one gave.
            bump.commit(rest, bump.room());
        }
        owner.space.refill(&bumps, shape, whole).unwrap();
        // SAFETY: the run has a cell.
        assert_eq!(unsafe { *bump.peek(cell).unwrap().as_ptr() }, wanted);
    }
}

#[test]
fn the_budget_and_the_limit_refuse() {
    let owner = Owner::new(SpaceConfig { limit: Some(8 << 20), ..CONFIG });
    let (shape, bytes) = (ShapeId::no_pointers(None), 100_000);
    owner.space.set_budget(1 << 20);
    assert!(owner.allocate(shape, 2 << 20).is_ok(), "the first of a cycle is served whatever its size");
    assert_eq!(owner.allocate(shape, bytes), Err(Refused::CollectionDue));
    owner.space.set_budget(usize::MAX);
    let mut made = 0;
    let refused = loop {
        match owner.allocate(shape, bytes) {
            Ok(_) => made += 1,
            Err(e) => break e,
        }
    };
    assert_eq!(refused, Refused::Limit { limit: 8 << 20, bytes: 13 << 13 });
    assert!((50..63).contains(&made), "{made}");
    owner.cycle(core::iter::empty());
    assert!(owner.allocate(shape, 8 << 20).is_ok(), "sweeping made room");
    let too_large = Refused::Window { bytes: 65 << 20, window: 64 << 20 };
    assert_eq!(owner.allocate(shape, 65 << 20), Err(too_large));
}

#[test]
fn the_walker_sees_a_mark_that_should_not_be_there() {
    let owner = Owner::new(CONFIG);
    let shape = owner.shape(32, TypeDescriptor::masked(32, &[1]).unwrap());
    let objects: Vec<usize> = (0..100).map(|_| owner.allocate(shape, 32).unwrap()).collect();
    owner.cycle(objects.iter().copied());
    owner.space.finish_sweep();
    owner.space.is_valid().unwrap();
    // SAFETY: an object of the space; no marking is under way, which is the point.
    unsafe { owner.space.marks().marker().set(objects[7]) };
    let invalid = owner.space.is_valid().unwrap_err();
    assert_eq!(invalid.what, "a swept span has mark bits");
    assert!(invalid.to_string().starts_with("page "));
}

#[test]
fn the_walker_sees_a_span_that_is_on_no_list() {
    let owner = Owner::new(CONFIG);
    let shape = owner.shape(32, TypeDescriptor::masked(32, &[1]).unwrap());
    owner.allocate(shape, 32).unwrap();
    // Owned by a bump, and not flushed.
    assert_eq!(owner.space.is_valid().unwrap_err().what, "a span is on no list, or on two");
    owner.space.flush(&owner.bumps());
    owner.space.is_valid().unwrap();
}

/// Review of the core, bug 2: 40 MiB of half-dead objects; another shape has everything swept; the heap had to grow by
/// as much as the first shape then allocated.
#[test]
fn spans_that_are_partly_free_are_used_after_everything_was_swept() {
    let owner = Owner::new(CONFIG);
    let (small, other) = (ShapeId::no_pointers(SizeClass::of(64)), ShapeId::no_pointers(SizeClass::of(512)));
    let objects: Vec<usize> = (0..(40 << 20) / 64).map(|_| owner.allocate(small, 64).unwrap()).collect();
    owner.cycle(objects.iter().copied().step_by(2));
    for _ in 0..(2 << 20) / 512 {
        owner.allocate(other, 512).unwrap();
    }
    owner.space.finish_sweep();
    let grown = owner.space.figures().grown;
    for _ in 0..(18 << 20) / 64 {
        owner.allocate(small, 64).unwrap();
    }
    assert_eq!(owner.space.figures().grown, grown);
    owner.space.flush(&owner.bumps());
    owner.space.is_valid().unwrap();
}

/// Review of the core, bug 7: what a leaving thread has not used of its spans is used by the next, and not charged.
#[test]
fn what_a_mutator_leaves_unused_is_used_by_others_and_not_charged() {
    let owner = Owner::new(CONFIG);
    let shapes = [16, 48, 64].map(|bytes| (ShapeId::no_pointers(SizeClass::of(bytes)), bytes));
    let mut all = std::collections::BTreeSet::new();
    for thread in 0..1000 {
        for (shape, bytes) in shapes {
            for _ in 0..thread % 5 {
                assert!(all.insert(owner.allocate(shape, bytes).unwrap()), "handed out twice");
            }
        }
        owner.space.flush(&owner.bumps());
    }
    owner.space.is_valid().unwrap();
    let bytes = 2000 * (16 + 48 + 64);
    assert_eq!(owner.space.figures().allocated_in_cycle, bytes);
    assert_eq!(owner.space.figures().total_allocated, bytes as u64);
    assert!(owner.space.figures().in_use <= bytes + 3 * 8192, "{}", owner.space.figures().in_use);
    assert_eq!(owner.objects().len(), all.len());
    // The same with what had outlived a cycle between the free cells.
    let kept: Vec<usize> = all.iter().copied().step_by(3).collect();
    owner.cycle(kept.iter().copied());
    let free = all.len() - kept.len();
    let mut made = 0;
    for _ in 0..free / 6 {
        for (shape, bytes) in shapes {
            assert!(!kept.contains(&owner.allocate(shape, bytes).unwrap()));
            made += 1;
        }
        owner.space.flush(&owner.bumps());
    }
    owner.space.finish_sweep();
    owner.space.is_valid().unwrap();
    assert_eq!(owner.objects().len(), kept.len() + made);
    assert!(owner.space.figures().in_use <= bytes + 6 * 8192, "{}", owner.space.figures().in_use);
}

/// Pages of a large object that is being zeroed are in no span yet; a collection may come between.
#[test]
fn a_collection_may_come_before_a_large_object_is_finished() {
    let owner = Owner::new(CONFIG);
    let shape = owner.shape(1 << 20, TypeDescriptor::masked(1 << 20, &[1]).unwrap());
    for round in 0..3 {
        let dirty = owner.allocate(shape, 1 << 20).unwrap();
        // SAFETY: the object is new and this large.
        unsafe { (dirty as *mut u8).write_bytes(0xEE, 1 << 20) };
        owner.cycle(core::iter::empty());
        owner.space.finish_sweep();
        let large = owner.space.take_large(shape, 1 << 20, false).unwrap();
        assert_eq!(large.bytes_to_zero(), 1 << 20, "the pages were used before");
        owner.space.is_valid().unwrap();
        owner.cycle(core::iter::empty());
        owner.space.zero_large(&large);
        owner.space.finish_sweep();
        owner.space.is_valid().unwrap();
        let object = owner.space.finish_large(large).as_ptr() as usize;
        // SAFETY: as above.
        let words = unsafe { core::slice::from_raw_parts(object as *const u64, 1 << 17) };
        assert!(words.iter().all(|&w| w == 0));
        assert_eq!(owner.space.find(object + 99).map(|o| o.base), Some(object), "round {round}");
        owner.space.is_valid().unwrap();
        owner.cycle([object].into_iter());
        assert_eq!(owner.objects().len(), 1);
        owner.cycle(core::iter::empty());
        owner.space.finish_sweep();
        assert_eq!(owner.space.figures().in_use, 0);
    }
}

/// A child forked while the parent's background thread released memory has no such thread: what is on its way to the kernel
/// there never arrives, and nobody may wait for it for ever.
#[test]
fn a_release_that_never_ends_keeps_nobody_waiting() {
    let owner = Owner::new(CONFIG);
    let (shape, bytes) = (ShapeId::no_pointers(None), 3 << 20);
    owner.allocate(shape, bytes).unwrap();
    owner.cycle(core::iter::empty());
    owner.space.finish_sweep();
    let policy = ReleasePolicy { most: PageCount(512), huge_pages: false };
    let mut allocated = false;
    let pages = owner.space.pages();
    pages.scavenge(Effort::Full, policy, |_, _| {
        assert!(pages.is_releasing());
        allocated = owner.allocate(shape, bytes).is_ok();
        true
    });
    assert!(allocated);
    owner.space.is_valid().unwrap();
}

/// The background sweeps beside a mutator, pack by pack, and keeps away while that is suspended.
#[test]
fn nobody_sweeps_for_others_while_that_is_suspended() {
    let owner = Owner::new(CONFIG);
    let shape = ShapeId::no_pointers(SizeClass::of(64));
    let objects: Vec<usize> = (0..100_000).map(|_| owner.allocate(shape, 64).unwrap()).collect();
    owner.cycle(objects.iter().copied().step_by(500));
    assert!(owner.space.sweep_some());
    let suspended = owner.space.suspend_sweeping();
    assert!(!owner.space.sweep_some());
    drop(suspended);
    let mut packs = 1;
    while owner.space.sweep_some() {
        packs += 1;
    }
    assert!(packs > 10, "{packs}");
    owner.space.is_valid().unwrap();
}

#[test]
fn types_share_shapes_until_there_are_too_many() {
    let owner = Owner::new(CONFIG);
    let of = |bytes: usize, mask: u64| {
        let d = TypeDescriptor::masked(bytes, &[mask]).unwrap();
        owner.space.shape_for(bytes, Scan::Layout(d.layout()))
    };
    assert_eq!(of(33 * 8, 1), of(34 * 8, 1));
    assert_ne!(of(33 * 8, 1), of(33 * 8, 2));
    assert_eq!(of(16, 3).ok(), ShapeId::well_known(16, &[3, 0, 0, 0]));
    assert_eq!(
        owner.space.shape_for(50, Scan::Layout(Layout::NoPointers)).ok(),
        ShapeId::well_known(50, &[0; 4])
    );
    let mut masks = 1..;
    let last = masks.find(|&mask| of(20 * 8, mask) == Err(ShapeRefused::TooMany)).unwrap();
    // The two above, and the masks below the last.
    assert_eq!(2 + (last as usize - 1), MAX_OWN);
    assert!(ShapeRefused::TooMany.to_string().contains(&format!("more than {MAX_OWN} different layouts")));
    assert_eq!(owner.space.shape_count() as usize, MAX_SHAPES);
    assert!(of(20 * 8, 1).is_ok(), "those that exist are still found");
}

#[test]
fn layouts_of_few_objects_share_spans_and_get_their_own_when_they_fill_one() {
    let owner = Owner::new(CONFIG);
    // Two hundred layouts of 12 words with two objects each.
    let layouts: Vec<_> = (1u64..=200)
        .map(|k| {
            let mask = k.wrapping_mul(0x9E37) % 0xfff + 1;
            let mask = mask & 0xfff | (k == 1) as u64;
            (mask, owner.shape(96, TypeDescriptor::masked(96, &[mask]).unwrap()))
        })
        .collect();
    let mut objects = Vec::new();
    for _ in 0..2 {
        for &(mask, shape) in &layouts {
            objects.push((owner.allocate(shape, 96).unwrap(), mask));
        }
    }
    // 400 objects of 96 bytes fit into 5 pages, and do.
    let spans = || {
        let mut spans = 0;
        owner.space.for_each_span(|_, _| spans += 1);
        spans
    };
    assert_eq!(spans(), 5);
    for &(object, mask) in &objects {
        let mut found = 0u64;
        owner.space.pointer_bits().for_each(object..object + 96, |slot| found |= 1 << ((slot - object) / 8));
        assert_eq!(found, mask);
    }
    owner.cycle(objects.iter().map(|&(object, _)| object));
    owner.space.finish_sweep();
    owner.space.is_valid().unwrap();
    assert_eq!(owner.objects().len(), objects.len());
    // One of them becomes common: from its 85th object on (a page) it has spans of its own.
    let common = layouts[7].1;
    let before = spans();
    let many: Vec<usize> = (0..500).map(|_| owner.allocate(common, 96).unwrap()).collect();
    // One page more for those that are mixed, and five of its own for 415.
    assert!((5..=7).contains(&(spans() - before)), "{} {before}", spans());
    let own = |object: usize| owner.space.find_span(object).unwrap().shape() == common;
    assert_eq!(many.iter().filter(|&&object| !own(object)).count(), 85);
    assert!(own(many[85]) && own(many[499]));
    // It keeps to them while it has any, and not when it has none.
    owner.cycle([many[499]].into_iter());
    assert!(own(owner.allocate(common, 96).unwrap()));
    owner.cycle(core::iter::empty());
    owner.space.finish_sweep();
    owner.cycle(core::iter::empty());
    assert!(!own(owner.allocate(common, 96).unwrap()));
    owner.space.flush(&owner.bumps());
    owner.space.is_valid().unwrap();
}

#[test]
fn rare_objects_with_room_for_it_have_the_number_of_their_shape() {
    let owner = Owner::new(CONFIG);
    owner.space.set_always_mixed(true);
    let mut objects = Vec::new();
    for bytes in [176, 192, 208, 224, 240, 256, 320, 1024, 2000, 8192, MAX_SMALL] {
        let words = bytes / 8;
        let shapes: Vec<(ShapeId, ScanKind)> = (1..40u64)
            .map(|k| match k % 4 {
                0 => {
                    let program =
                        Builder::<64>::new().scalars(k % 13).pointer().padded(words as u64).finish();
                    let program = owner.space.register_program(program.program()).unwrap();
                    let scan = Scan::Program { header: 0, program };
                    (owner.space.shape_for(bytes, scan).unwrap(), ScanKind::Program)
                }
                _ => (owner.shape(bytes, TypeDescriptor::masked(bytes, &[k]).unwrap()), ScanKind::Mask),
            })
            .collect();
        for k in 0..120 {
            let (shape, kind) = shapes[k * 7 % shapes.len()];
            objects.push((owner.allocate(shape, bytes).unwrap(), bytes, shape, kind));
        }
    }
    // All are as they were written, beside each other.
    for &(object, bytes, shape, kind) in &objects {
        let mixed = owner.space.shape(owner.space.find_span(object).unwrap().shape()).kind();
        let numbered = kind != ScanKind::Program && SizeClass::of(bytes).unwrap().cell_size() >= 192;
        assert_eq!(mixed, if numbered { ScanKind::Numbered } else { ScanKind::Bits }, "{bytes}");
        if numbered {
            assert_eq!(owner.space.pointer_bits().shape(object), shape);
            assert_eq!(owner.space.numbered_entry(object).kind(), Some(kind));
        }
    }
    owner.cycle(objects.iter().map(|&(object, ..)| object));
    owner.space.finish_sweep();
    owner.space.is_valid().unwrap();
    assert_eq!(owner.objects().len(), objects.len());
}
