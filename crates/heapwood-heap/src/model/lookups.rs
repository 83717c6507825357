//! Models of looking an object up that another thread has just made, or a cell that another is about to use again, while the
//! owner goes on: to the next run, to the next span, to cells that the program freed. Its cursor and its span are watched
//! (`heapwood-os/threads/watched.rs`). Invariant: an object that the asking thread has the address of, by a load that
//! acquires, is found; a cell that nobody has been given is not.

use super::{CELL, ONE, World, play, play_preempted, spawn};
use crate::address::Address;
use crate::alloc::alloc_buffer::AllocBuffer;
use crate::reclaim::run_owners::RunOwner;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use heapwood_os::threads::sync::AtomicUsize as Word;
use heapwood_os::threads::watched::Watch;
use heapwood_os::{MappedArray, SYSTEM};
use heapwood_pages::{PAGE_SIZE, PageIndex};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A world with one object in a span of two cells, its buffer watched, and a word that both threads know.
fn world() -> (Arc<World>, Arc<Word>, Watch) {
    let world = World::new();
    world.allocate_some(0, ONE, 1);
    let watch = Watch::new();
    world.owner(0).buffer(ONE).watch(&watch);
    (world, Arc::new(Word::new(0)), watch)
}

/// A thread fills its span and goes on to the next; another asks for each object that it meets.
#[test]
fn what_is_known_is_found() {
    static MET: AtomicUsize = AtomicUsize::new(0);
    play(|| {
        let (world, slot, _watch) = world();
        let (making, put) = (world.clone(), slot.clone());
        let maker = spawn(move || {
            for _ in 0..2 {
                making.run(0, || put.store(making.allocate_unseen(0, ONE), Release));
            }
        });
        let object = slot.load(Acquire);
        if object != 0 {
            MET.fetch_add(1, Relaxed);
            world.run(1, || {
                let found = world.owner(1).find(Address::new(object + 1)).expect("a known object is missing");
                assert_eq!(found.base.get(), object);
            });
        }
        maker.join().unwrap();
    });
    assert!(MET.swap(0, Relaxed) > 0);
}

/// A thread frees its object and gets the cell again; another asks for it all the time.
#[test]
pub(super) fn a_waiting_cell_is_not_found() {
    static MET: AtomicUsize = AtomicUsize::new(0);
    play(|| {
        let (world, given, watch) = world();
        let first = world.first();
        // Its buffer has no cells left, and the freed ones come next.
        world.allocate_some(0, ONE, 1);
        world.run(0, || world.free(0, first));
        world.sweeper().heap.freed.watch(&watch, first);
        world.owner(0).watch_moves(&watch);
        let (making, told) = (world.clone(), given.clone());
        let maker = spawn(move || {
            making.run(0, || {
                let owner = making.owner(0);
                owner.refill(ONE, true).expect("there is room");
                let cell = owner.buffer(ONE).peek(CELL).unwrap();
                assert_eq!(cell.as_ptr() as usize, first);
                told.fetch_add(1, SeqCst);
                // SAFETY: `peek` has just returned it, and nothing follows what it holds.
                unsafe { owner.buffer(ONE).commit(cell, CELL) };
            });
        });
        world.run(1, || {
            if world.owner(1).find(Address::new(first)).is_some() {
                MET.fetch_add(1, Relaxed);
                assert_eq!(given.fetch_add(0, SeqCst), 1, "a cell that nobody has been given is found");
            }
        });
        maker.join().unwrap();
        world.run(1, || assert!(world.owner(1).find(Address::new(first)).is_some()));
    });
    assert!(MET.swap(0, Relaxed) > 0);
}

/// A thread uses up a cell that it had freed, and goes on to the next span and the one after that; another asks for the object
/// in that cell all the time. Its refills have so many steps that few preemptions can be tried.
pub(super) fn what_was_made_in_a_freed_cell_is_found(preemptions: usize) {
    play_preempted(preemptions, || {
        let (world, _given, watch) = world();
        let first = world.first();
        world.allocate_some(0, ONE, 1);
        world.run(0, || world.free(0, first));
        world.allocate_some(0, ONE, 1);
        assert!(world.has_owner(first));
        world.owner(0).watch_moves(&watch);
        let making = world.clone();
        let maker = spawn(move || {
            making.run(0, || {
                for _ in 0..3 {
                    making.allocate_unseen(0, ONE);
                }
            });
        });
        world.run(1, || {
            let found = world.owner(1).find(Address::new(first));
            assert!(found.is_some(), "an object in a cell that was used again is missing");
        });
        maker.join().unwrap();
    });
}

#[test]
fn an_object_in_a_cell_that_was_used_again_is_found() {
    what_was_made_in_a_freed_cell_is_found(1);
}

/// A buffer and its mutator's place on the list, without a world.
struct Alone(MappedArray<AllocBuffer>, MappedArray<RunOwner>);

// SAFETY: one thread changes them; the other loads what others may.
unsafe impl Sync for Alone {}
// SAFETY: as above.
unsafe impl Send for Alone {}

impl Alone {
    fn new() -> Self {
        let alone = Alone(MappedArray::new(&SYSTEM, 1).unwrap(), MappedArray::new(&SYSTEM, 1).unwrap());
        alone.0.commit(0..1).unwrap();
        alone.1.commit(0..1).unwrap();
        alone
    }

    fn parts(&self) -> (&AllocBuffer, &RunOwner) {
        // SAFETY: both are committed; zeros are a buffer, and an owner on no list.
        unsafe { (&*self.0.as_ptr(), &*self.1.as_ptr()) }
    }
}

/// The same of the buffer alone, with more preemptions: its freed run is used up, and a span comes and goes.
#[test]
fn a_used_up_run_is_over() {
    play(|| {
        let both = Arc::new(Alone::new());
        let (buffer, owner) = both.parts();
        let watch = Watch::new();
        buffer.watch(&watch);
        owner.watch(&watch);
        let cell = CELL;
        owner.with_move(|| buffer.set_cells(cell..cell + CELL, CELL));
        let made = buffer.peek(CELL).unwrap();
        // SAFETY: `peek` has just returned it; nothing is written there.
        unsafe { buffer.commit(made, CELL) };
        let theirs = both.clone();
        let goes_on = spawn(move || {
            let (buffer, owner) = theirs.parts();
            buffer.reset();
            let start = 4 * PAGE_SIZE;
            owner.with_move(|| buffer.own(PageIndex(4), start, CELL, CELL));
            buffer.set_run(start..start + CELL);
            buffer.reset();
        });
        assert!(!buffer.is_about_to_reuse(cell, || owner.moves()));
        goes_on.join().unwrap();
    });
}
