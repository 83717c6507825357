//! The heap of the process, and the calling thread's mutator. The first call that needs the heap makes it: `GC_init`, an allocation,
//! a setter whose setting it has. A thread that was not registered and allocates is registered then; libgc would end the process.
//! Invariant: the heap, once made, stays for good, at one address.

use crate::{announce, environment, phases, report, settings, slot, stress, symbols, threads};
use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use heapwood_gc::{Heap, Mutator, StackGiven};
use heapwood_os::SYSTEM;
use std::sync::Once;

static HEAP: AtomicPtr<Heap> = AtomicPtr::new(null_mut());
static MAKING: Once = Once::new();
static IS_INIT: AtomicBool = AtomicBool::new(false);

/// The heap, if it was made.
#[inline]
pub(crate) fn made() -> Option<&'static Heap> {
    // SAFETY: null, or the heap, which stays.
    unsafe { HEAP.load(Ordering::Acquire).as_ref() }
}

/// The heap.
#[inline]
pub(crate) fn heap() -> &'static Heap {
    made().unwrap_or_else(make)
}

#[cold]
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
        symbols::GC_least_plausible_heap_addr.store(window, Ordering::Relaxed);
        let end = window + heap.space().reservation_bytes();
        symbols::GC_greatest_plausible_heap_addr.store(end, Ordering::Relaxed);
        settings::begin(heap);
        phases::begin(heap);
        threads::begin_heap(heap);
        HEAP.store(at.cast_mut(), Ordering::Release);
        announce::begin();
    });
    made().expect("it was made just now")
}

/// The calling thread's mutator. Attaches the thread if it is not.
#[inline]
pub(crate) fn mutator() -> &'static Mutator {
    slot::mutator().unwrap_or_else(attached)
}

/// The calling thread's mutator, if it is attached.
pub(crate) fn attached_mutator() -> Option<&'static Mutator> {
    // SAFETY: it is this thread's.
    slot::mutator().or_else(|| Mutator::here(made()?).map(|mutator| unsafe { mutator.as_ref() }))
}

#[cold]
fn attached() -> &'static Mutator {
    attached_mutator().unwrap_or_else(|| attach(StackGiven::Own))
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
    if IS_INIT.load(Ordering::Acquire) && attached_mutator().is_some() {
        return;
    }
    mutator();
    IS_INIT.store(true, Ordering::Release);
}

/// Whether there is a heap.
pub(crate) fn is_init_called() -> c_int {
    made().is_some().into()
}
