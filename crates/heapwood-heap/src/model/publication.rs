//! Models of publication: a thread that meets a pointer to a new object sees the state that the object rests on. The
//! product's refill, on a heap that has no span yet and must grow, races against a thread that follows the pointer, as
//! a marker does, or as a program's thread does that then stores into the heap. Loom tries every value that a weakly
//! ordered machine may give a load. That the models need each order is in `left_out.rs`. Invariant: a thread that
//! knows a pointer knows the page's span, and that the page can be looked up.

use super::{ONE, World, play, spawn};
use crate::publication;
use core::sync::atomic::Ordering::{Relaxed, Release};
use heapwood_os::threads::sync::{AtomicUsize, fence};
use loom::cell::UnsafeCell;
use std::sync::Arc;

/// The store of a new object's address.
#[derive(Clone, Copy)]
pub(super) enum Store {
    /// Plain, as in the initialisation of another object.
    Plain,
    /// Plain, with the barrier after it.
    PlainThenBarrier,
}

/// The load of the address by another thread.
#[derive(Clone, Copy)]
pub(super) enum Load {
    /// As the write barrier's slow half, and a marker, load slots.
    Acquire,
    /// Plain, as in a C program, which then asks the heap about it.
    PlainThenObserve,
}

/// A slot of an object that both threads know.
struct Shared {
    world: Arc<World>,
    slot: AtomicUsize,
}

pub(super) fn a_new_object_is_known(store: Store, load: Load) {
    play(move || {
        let shared = Arc::new(Shared { world: World::new(), slot: AtomicUsize::new(0) });
        let maker = shared.clone();
        let maker = spawn(move || {
            maker.world.run(0, || {
                let object = maker.world.allocate_unseen(0, ONE);
                maker.slot.store(object, Relaxed);
                if let Store::PlainThenBarrier = store {
                    fence(Release);
                }
            });
        });
        let object = match load {
            Load::Acquire => publication::load(&shared.slot),
            Load::PlainThenObserve => {
                let object = shared.slot.load(Relaxed);
                publication::observe();
                object
            }
        };
        if object != 0 {
            let spans = &shared.world.sweeper().heap.spans;
            spans.witness().know(spans.page_of(object));
        }
        maker.join().unwrap();
    });
}

#[test]
fn a_marker_that_meets_a_pointer_knows_the_object() {
    a_new_object_is_known(Store::Plain, Load::Acquire);
}

#[test]
fn a_lookup_of_a_pointer_sees_its_object() {
    a_new_object_is_known(Store::Plain, Load::PlainThenObserve);
}

/// One thread fills an object and another reads it, with only the slot between them.
#[test]
pub(super) fn contents_are_seen() {
    loom::model(|| {
        let shared = Arc::new((UnsafeCell::new(0), AtomicUsize::new(0)));
        let maker = shared.clone();
        let maker = loom::thread::spawn(move || {
            // SAFETY: loom reports unordered accesses.
            maker.0.with_mut(|object| unsafe { *object = 1 });
            publication::publish_object();
            publication::store(&maker.1, 1);
        });
        if publication::load(&shared.1) != 0 {
            // SAFETY: as above.
            assert_eq!(shared.0.with(|object| unsafe { *object }), 1);
        }
        maker.join().unwrap();
    });
}
