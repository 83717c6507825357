//! A model of a look at all pages of a space in which others allocate and free, as a collector looks at the blocks of Rust programs. The
//! words that are read of the pages are watched (`heapwood-os/threads/watched.rs`). Invariant: the look comes to each page of an object that
//! was handed on before, in whatever order the pages around it are freed and used again.

use super::left_out::{is_missed, leaves_out, model};
use super::{CELL, LARGE, OTHER, World, spawn};
use crate::layout::shape::ScanKind;
use crate::publication::mutant;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use heapwood_os::threads::sync::AtomicUsize as Slot;
use heapwood_os::threads::watched::Watch;
use heapwood_pages::{PAGE_SIZE, PageIndex};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The pages of a large object, and those behind it.
const PAGES: core::ops::Range<usize> = 1..10;

/// A thread makes an object whose words may be pointers and hands it on, as a channel would; then it frees a large one beside it, and makes
/// another in its pages. Who has got the object, and stopped, is looked at.
fn what_was_handed_on_is_looked_at() {
    // Executions in which there was an object to look for. They are no part of the model.
    static MET: AtomicUsize = AtomicUsize::new(0);
    model(|| {
        let (world, slot) = (World::new(), Arc::new(Slot::new(0)));
        world.allocate_some(0, LARGE, 1);
        let watch = Watch::new();
        let spans = world.sweeper().heap().spans();
        PAGES.for_each(|page| spans.watch_entry(&watch, PageIndex(page)));
        let (maker, to) = (world.clone(), slot.clone());
        let maker = spawn(move || {
            maker.run(0, || {
                let object = maker.allocate_unseen(0, OTHER);
                to.store(object, Release);
                if mutant::is(mutant::ENTRY_LATE) {
                    let spans = maker.sweeper().heap().spans();
                    spans.set_late(spans.page_of(object), ScanKind::Conservative);
                }
                maker.free(0, maker.first());
                maker.allocate_unseen(0, LARGE);
            });
        });
        let object = slot.load(Acquire);
        if object != 0 {
            MET.fetch_add(1, Relaxed);
            let first = spans.page_of(object);
            let looked = spans.pages_with_pointers().filter(|page| *page >= first);
            let looked = looked.take_while(|page| page.0 < first.0 + CELL / PAGE_SIZE).count();
            assert_eq!(looked, CELL / PAGE_SIZE, "a page that is not looked at");
        }
        maker.join().unwrap();
    });
    assert!(MET.swap(0, Relaxed) > 0);
}

#[test]
fn a_look_comes_to_all_that_was_handed_on() {
    what_was_handed_on_is_looked_at();
}

#[test]
fn an_entry_that_comes_after_its_object_is_noticed() {
    is_missed("page_looks::child_entry_late", mutant::ENTRY_LATE, "a page that is not looked at");
}

#[test]
#[ignore = "fails, as it must: run in a process of its own by the test above"]
fn child_entry_late() {
    if leaves_out() {
        what_was_handed_on_is_looked_at();
    }
}
