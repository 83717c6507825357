//! Collections that the program asks for, and those that it forbids. Invariant: while they are off none begins, whoever needs one.

pub(crate) mod phases;
pub(crate) mod stats;

use crate::exports::types::StopFunction;
use crate::exports::variables::GC_dont_gc;
use crate::finalizers;
use crate::process::{made, mutator};
use crate::report;
use crate::settings;
use crate::settings::live;
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

/// `GC_gcollect`.
pub(crate) fn collect() {
    try_to_collect(settings::stop_function());
}

/// `GC_gcollect_and_unmap`.
pub(crate) fn collect_and_unmap() {
    run(true, None);
}

/// `GC_try_to_collect`: 0 if the program's function says so, or collections are off.
pub(crate) fn try_to_collect(stop: StopFunction) -> c_int {
    run(settings::force_unmap() != 0, stop)
}

fn run(unmaps: bool, stop: StopFunction) -> c_int {
    let mutator = mutator();
    live::apply(mutator.heap());
    // SAFETY: the program has given it.
    if is_disabled() != 0 || stop.is_some_and(|stop| unsafe { stop() } != 0) {
        return 0;
    }
    let heap = mutator.heap();
    // Collections that the program asks for come, if only others are off.
    let is_manual = live::is_manual() != 0 && heap.enable_collections().is_ok();
    let collected = mutator.collect();
    if is_manual {
        let _ = heap.disable_collections();
    }
    if let Err(error) = collected {
        report::warn(format_args!("GC_gcollect has not collected: {error}"));
        return 0;
    }
    if unmaps {
        heap.memory().release_free();
    }
    finalizers::after_collection(mutator);
    1
}

/// `GC_collect_a_little`: nothing is left to do.
pub(crate) fn collect_a_little() -> c_int {
    0
}

/// `GC_disable`.
pub(crate) fn disable() {
    GC_dont_gc.fetch_add(1, Relaxed);
    if let Some(heap) = made() {
        live::apply(heap);
    }
}

/// `GC_enable`.
pub(crate) fn enable() {
    GC_dont_gc.fetch_sub(1, Relaxed);
    if let Some(heap) = made() {
        live::apply(heap);
    }
}

/// `GC_is_disabled`.
pub(crate) fn is_disabled() -> c_int {
    (GC_dont_gc.load(Relaxed) != 0).into()
}
