//! The start: the heap is made, and threads are attached to it. Invariant: the heap is known to others when it is whole.

use crate::collections::phases;
use crate::exports::variables;
use crate::objects::interior;
use crate::process::announce;
use crate::process::environment;
use crate::process::slot;
use crate::process::stress;
use crate::process::{self, attached_mutator};
use crate::report;
use crate::settings::live;
use crate::threads;
use core::sync::atomic::Ordering;
use heapwood_gc::{Heap, Mutator, StackGiven};
use heapwood_os::SYSTEM;
use std::sync::Once;

static MAKING: Once = Once::new();

/// The heap.
fn heap() -> &'static Heap {
    process::made().unwrap_or_else(make)
}

fn make() -> &'static Heap {
    MAKING.call_once(|| {
        environment::read();
        let config = environment::config();
        let heap = match Heap::create(&SYSTEM, config) {
            Ok(heap) => heap,
            Err(error) => report::abort(format_args!("no heap could be made: {error}")),
        };
        let at: *const Heap = &*heap;
        core::mem::forget(heap);
        // SAFETY: it stays, since it is never dropped.
        let heap = unsafe { &*at };
        let window = heap.space().base().get();
        variables::GC_least_plausible_heap_addr.store(window, Ordering::Relaxed);
        let end = window + heap.space().reservation_bytes();
        variables::GC_greatest_plausible_heap_addr.store(end, Ordering::Relaxed);
        interior::begin(heap);
        live::begin(heap);
        crate::roots::begin(heap);
        phases::begin(heap);
        threads::begin_heap(heap);
        process::set(heap);
        announce::begin();
    });
    process::made().expect("it was made just now")
}

/// Attaches the calling thread, which is not, on this stack.
pub(crate) fn attach(stack: StackGiven) -> &'static Mutator {
    let heap = heap();
    let attached = match Mutator::attach_on(heap, stack) {
        Ok(attached) => attached,
        Err(error) => report::abort(format_args!("a thread could not be registered: {error}")),
    };
    // SAFETY: the thread uses it as long as it is attached.
    let mutator = unsafe { attached.into_raw().as_ref() };
    mutator.at_leave(slot::clear);
    // Where allocation takes the slow path each time, the word stays empty.
    if !stress::is_slow() {
        slot::set(mutator);
    }
    threads::begin(mutator);
    mutator
}

/// `GC_init`: makes the heap, and registers the thread.
pub(crate) fn init() {
    heap();
    if attached_mutator().is_none() {
        attach(StackGiven::Own);
    }
}
