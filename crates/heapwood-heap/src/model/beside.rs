//! Models of what a marker beside the program, and the barriers that shade for it, read of pages, descriptors and bits,
//! while mutators make spans in pages that had others, and free objects. The words that are read are watched
//! (`heapwood-os/threads/watched.rs`): loom gives each load every value that a weakly ordered machine may give. loom knows
//! no order by addresses; where the processor orders a load after the load of its address, the models have an acquire fence
//! ([`follow_address`]), and a model shows that they need it. What does not depend on the address, the committed end, is read
//! before. That the models can fail is in `left_out.rs`. Invariant: a marker takes an
//! address for an object of the snapshot only if it is one, and then has the page's own layout.

use super::{LARGE, ONE, World, play, spawn};
use crate::address::Address;
use crate::layout::shape::ScanKind;
use crate::marking_view::MarkingView;
use crate::pages::page_heap::PageHeap;
use crate::publication::mutant;
use crate::spans::page_table::PageEntry;
use core::ops::Range;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use heapwood_os::threads::sync::{AtomicUsize as Slot, fence};
use heapwood_os::threads::watched::Watch;
use heapwood_pages::{PAGE_SIZE, PageIndex};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The first page of the first span, and those of a large object there; a span of cells has all but the last.
const FIRST: PageIndex = PageIndex(1);
const PAGES: Range<usize> = 1..6;

/// A world, and a slot of an object that both threads know.
struct Shared {
    world: Arc<World>,
    slot: Slot,
}

impl Shared {
    fn new(world: Arc<World>) -> Arc<Self> {
        Arc::new(Shared { world, slot: Slot::new(0) })
    }

    fn heap(&self) -> &PageHeap {
        &self.world.sweeper().heap
    }

    /// Watches the first page's entry and descriptor, and those of another page; and the bits of the first cell.
    fn watch(&self, other: PageIndex) -> Watch {
        let (watch, spans) = (Watch::new(), &self.heap().spans);
        spans.watch(&watch, FIRST);
        if other != FIRST {
            spans.watch_entry(&watch, other);
        }
        self.heap().marks.watch_allocated(&watch, spans.address_of(FIRST));
        watch
    }
}

/// The loads below are of words at an address that was loaded above.
fn follow_address() {
    fence(Acquire);
}

/// The marker's look-ups, as in `mark/queue.rs`, in a slice.
struct Slice<'w> {
    heap: &'w PageHeap,
    view: MarkingView<'w>,
    /// Read as the slice begins, as everything that does not depend on an address.
    entries: *const PageEntry,
    committed_end: usize,
}

impl<'w> Slice<'w> {
    fn begin(heap: &'w PageHeap) -> Self {
        let spans = &heap.spans;
        let view = MarkingView::new(&heap.marks, spans);
        Slice { heap, view, entries: spans.entries(), committed_end: spans.committed_end() }
    }

    fn is_edge(&self, word: usize) -> bool {
        word.wrapping_sub(self.heap.spans.base()) < self.committed_end
    }

    fn entry(&self, address: usize) -> PageEntry {
        // SAFETY: an edge lies below the committed end.
        unsafe { PageEntry::load(self.entries.add(self.heap.spans.page_of(address).0)) }
    }

    /// Whether the marker would mark what the edge leads to. No model has arenas.
    fn in_snapshot(&self, edge: usize) -> bool {
        // SAFETY: an edge lies below the committed end.
        let is_old = unsafe { self.view.is_allocated_in_heap(edge) };
        is_old && !self.heap.freed.is_freed(edge)
    }
}

/// Pages that a large object had, which is gone.
pub(super) fn used_pages() -> Arc<World> {
    let world = World::new();
    world.run(0, || world.free(0, world.allocate(0, LARGE)));
    world
}

/// The same with the object, made since the last stop.
fn young_object() -> Arc<World> {
    let world = World::new();
    world.allocate_some(0, LARGE, 1);
    world
}

/// The same with the object, which is old.
fn old_object() -> Arc<World> {
    let world = young_object();
    world.collect(|_| true);
    world.sweeper().finish();
    world
}

/// A mutator makes a span in the pages that another had, an object there, and stores the object's address plainly; the marker
/// loads it.
pub(super) fn a_new_object_has_its_page(world: fn() -> Arc<World>, by_address: bool) {
    // Executions in which the marker has met the object. They are no part of the model.
    static MET: AtomicUsize = AtomicUsize::new(0);
    play(move || {
        let shared = Shared::new(world());
        let _watch = shared.watch(FIRST);
        let maker = shared.clone();
        let maker = spawn(move || {
            let (world, first) = (&maker.world, maker.world.first());
            world.run(0, || {
                if world.has_owner(first) {
                    world.free(0, first);
                }
                let object = world.allocate_unseen(0, ONE);
                assert_eq!(object, first);
                maker.slot.store(object, Relaxed);
                if mutant::is(mutant::ENTRY_LATE) {
                    maker.heap().spans.set_late(FIRST, ScanKind::NoPointers);
                }
            });
        });
        let slice = Slice::begin(shared.heap());
        let object = shared.slot.load(Relaxed);
        if slice.is_edge(object) {
            if by_address {
                follow_address();
            }
            MET.fetch_add(1, Relaxed);
            let entry = slice.entry(object);
            assert!(entry.kind() == Some(ScanKind::NoPointers) && entry.shape() == ONE, "an earlier entry");
            let span = shared.heap().spans.find(Address::new(object)).unwrap();
            assert!(span.shape() == ONE, "an earlier descriptor");
            assert_eq!(span.cell_in(Address::new(object + PAGE_SIZE)), Some(Address::new(object)));
            assert!(!slice.in_snapshot(object), "a new object has an allocation bit");
        }
        maker.join().unwrap();
    });
    assert!(MET.swap(0, Relaxed) > 0);
}

#[test]
fn a_marker_that_meets_a_new_object_has_its_entry_and_descriptor_and_no_bit() {
    a_new_object_has_its_page(used_pages, true);
    a_new_object_has_its_page(young_object, true);
}

/// A word leads somebody to a page, by no pointer that was published, while the page gets a span of cells.
#[test]
pub(super) fn an_entry_has_its_descriptor() {
    static MET: AtomicUsize = AtomicUsize::new(0);
    play(|| {
        let shared = Shared::new(used_pages());
        let _watch = shared.watch(FIRST);
        let maker = shared.clone();
        let maker = spawn(move || maker.world.run(0, || _ = maker.world.allocate_unseen(0, ONE)));
        let slice = Slice::begin(shared.heap());
        let word = shared.world.first() + PAGE_SIZE / 2;
        if slice.entry(word).kind().is_some() {
            follow_address();
            MET.fetch_add(1, Relaxed);
            let (span, at) = (shared.heap().spans.at(FIRST), Address::new(shared.world.first()));
            assert!(span.shape() == ONE && span.cell_in(at) == Some(at), "an earlier descriptor");
            assert_eq!(span.cell_size() as usize, span.object_bytes(), "an earlier descriptor");
        }
        maker.join().unwrap();
    });
    assert!(MET.swap(0, Relaxed) > 0);
}

/// How a marker looks up a conservative word.
#[derive(Clone, Copy)]
pub(super) enum LookUp {
    /// As it does: only an old object counts.
    Old,
    /// As in a stop.
    Any,
}

/// A stray word leads a marker into a span that ends, or that is made there meanwhile. It finds no order at all: what it reads of
/// the descriptor may be of different spans.
pub(super) fn a_stray_word_leads_into(by: LookUp) {
    play(move || {
        let shared = Shared::new(young_object());
        let other = PageIndex(PAGES.end - 3);
        let _watch = shared.watch(other);
        let maker = shared.clone();
        let maker = spawn(move || {
            maker.world.run(0, || {
                maker.world.free(0, maker.world.first());
                maker.world.allocate_unseen(0, ONE);
            });
        });
        // In the second cell, which is nobody's.
        let word = Address::new(shared.heap().spans.address_of(other) + 8);
        match by {
            LookUp::Old => assert_eq!(shared.heap().find_old(word), None),
            LookUp::Any => {
                let found = shared.heap().find(word).map(|found| (found.base.get(), found.bytes));
                let large = (shared.world.first(), super::LARGE_BYTES);
                assert!(found.is_none_or(|found| found == large), "an object that never was: {found:?}");
            }
        }
        maker.join().unwrap();
    });
}

#[test]
fn a_stray_word_finds_no_old_object_in_a_span_that_changes() {
    a_stray_word_leads_into(LookUp::Old);
}

/// A mutator frees an object of the snapshot, and makes an object; the marker has an edge to the first.
pub(super) fn an_object_of_the_snapshot_is_freed(later: bool) {
    static MET: AtomicUsize = AtomicUsize::new(0);
    play(move || {
        let shared = Shared::new(old_object());
        let _watch = shared.watch(FIRST);
        let maker = shared.clone();
        let maker = spawn(move || {
            let (world, object) = (&maker.world, Address::new(maker.world.first()));
            world.run(0, || {
                if later {
                    world.owner(0).free_later(object).unwrap();
                } else {
                    // SAFETY: nobody uses it.
                    unsafe { world.owner(0).free(object, false) }.unwrap();
                }
                world.allocate_unseen(0, ONE);
            });
        });
        let slice = Slice::begin(shared.heap());
        let object = shared.world.first();
        if slice.in_snapshot(object) {
            MET.fetch_add(1, Relaxed);
            assert!(slice.entry(object).shape() == LARGE, "another span in its place");
            let span = shared.heap().spans.at(FIRST);
            let (cell, bytes) = (span.cell_size(), span.object_bytes());
            assert!(cell == 0 && bytes == super::LARGE_BYTES, "another span in its place");
        }
        maker.join().unwrap();
    });
    assert!(MET.swap(0, Relaxed) > 0);
}

#[test]
fn an_object_of_the_snapshot_keeps_its_page() {
    an_object_of_the_snapshot_is_freed(true);
}

/// Who looks at an object that is being freed.
#[derive(Clone, Copy)]
pub(super) enum Looker {
    /// A marker that has an edge to it.
    Marker,
    /// A barrier that overwrites a pointer to it.
    Barrier,
    /// A marker, or a barrier, that has met a word that leads into it.
    Word,
}

const LOOKERS: [Looker; 3] = [Looker::Marker, Looker::Barrier, Looker::Word];

/// A mutator frees an object that was made since the snapshot: it gets a freed bit, and then an allocation bit. Nobody may take
/// it for an object of the snapshot: its first word links a chain. The bits of freed cells exist already, or from this free
/// on.
pub(super) fn a_new_object_is_freed(by: Looker, is_first_free: bool) {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    play(move || {
        let world = World::new();
        let object = world.allocate(0, ONE);
        if !is_first_free {
            world.run(0, || world.free(0, world.allocate(0, ONE)));
        }
        let shared = Shared::new(world);
        // The first free commits them, and says then that they exist.
        shared.heap().freed.commit(0, shared.heap().spans.committed_end()).unwrap();
        let watch = Watch::new();
        shared.heap().marks.watch_allocated(&watch, object);
        shared.heap().freed.watch(&watch, object);
        let free = shared.clone();
        let free = spawn(move || free.world.run(0, || free.world.free(0, object)));
        let heap = shared.heap();
        let is_old = match by {
            Looker::Marker => Slice::begin(heap).in_snapshot(object),
            Looker::Barrier => heap.is_old_object(Address::new(object)),
            Looker::Word => heap.find_old(Address::new(object + 8)).is_some(),
        };
        assert!(!is_old, "a freed cell is taken for an object");
        SEEN.fetch_add(heap.marks.is_allocated(object) as usize, Relaxed);
        free.join().unwrap();
    });
    assert!(SEEN.swap(0, Relaxed) > 0);
}

#[test]
fn a_freed_object_is_taken_for_no_old_one() {
    LOOKERS.into_iter().for_each(|by| a_new_object_is_freed(by, false));
    LOOKERS.into_iter().for_each(|by| a_new_object_is_freed(by, true));
}
