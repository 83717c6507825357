//! The data symbols of libgc, which are live settings, and the getters and setters of gc.h: those that have an effect, and those
//! that only remember what was set. Invariant: a getter returns what was set, or what the program has stored in the variable;
//! the heap follows later (`live`).

pub(crate) mod live;
pub(crate) mod sizes;

use crate::exports::types::*;
use crate::exports::variables::*;
use core::ffi::{c_int, c_ulong};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

/// A setter and a getter of a number.
macro_rules! number {
    ($set:ident, $get:ident, $of:ty, $variable:expr) => {
        pub(crate) fn $set(value: $of) {
            $variable.store(value as _, Relaxed);
        }

        pub(crate) fn $get() -> $of {
            $variable.load(Relaxed) as _
        }
    };
}

/// The same of a function.
macro_rules! function {
    ($set:ident, $get:ident, $of:ty, $variable:expr) => {
        pub(crate) fn $set(value: $of) {
            $variable.set(value.map_or(null_mut(), |function| function as Ptr));
        }

        pub(crate) fn $get() -> $of {
            // SAFETY: null, or what the program has set: a function of this type.
            unsafe { transmute::<Ptr, $of>($variable.get()) }
        }
    };
}

static BYTES_PER_FINALIZER: AtomicUsize = AtomicUsize::new(10_000);
static MANUAL_VDB: AtomicI32 = AtomicI32::new(0);
static TIME_LIMIT_NS: AtomicUsize = AtomicUsize::new(0);
static RATE: AtomicI32 = AtomicI32::new(10);
static MAX_PRIOR_ATTEMPTS: AtomicI32 = AtomicI32::new(1);
static FORCE_UNMAP: AtomicI32 = AtomicI32::new(0);
static MIN_BYTES: AtomicUsize = AtomicUsize::new(1);
static PAGES_EXECUTABLE: AtomicI32 = AtomicI32::new(0);
static START_CALLBACK: Pointer = Pointer::null();
static ON_COLLECTION_EVENT: Pointer = Pointer::null();
static STOP_FUNCTION: Pointer = Pointer::new(never_stop as Ptr);
static WARN: Pointer = Pointer::new(crate::report::log::print_warning as Ptr);

/// The function of `GC_get_stop_func` at first.
unsafe extern "C-unwind" fn never_stop() -> c_int {
    0
}

number!(set_finalize_on_demand, finalize_on_demand, c_int, GC_finalize_on_demand);
number!(set_java_finalization, java_finalization, c_int, GC_java_finalization);
number!(set_bytes_per_finalizer, bytes_per_finalizer, usize, BYTES_PER_FINALIZER);
number!(set_manual_vdb, manual_vdb, c_int, MANUAL_VDB);
number!(set_full_freq, full_freq, c_int, GC_full_freq);
number!(set_time_limit, time_limit, c_ulong, GC_time_limit);
number!(set_rate, rate, c_int, RATE);
number!(set_max_prior_attempts, max_prior_attempts, c_int, MAX_PRIOR_ATTEMPTS);
number!(set_force_unmap, force_unmap, c_int, FORCE_UNMAP);
number!(set_dont_expand, dont_expand, c_int, GC_dont_expand);
number!(set_dont_precollect, dont_precollect, c_int, GC_dont_precollect);
number!(set_max_retries, max_retries, usize, GC_max_retries);
number!(set_min_bytes, min_bytes, usize, MIN_BYTES);
number!(set_non_gc_bytes, non_gc_bytes, usize, GC_non_gc_bytes);
function!(set_finalizer_notifier, finalizer_notifier, Procedure, GC_finalizer_notifier);
function!(set_push_other_roots, push_other_roots, Procedure, GC_push_other_roots);
function!(set_start_callback, start_callback, Procedure, START_CALLBACK);
function!(set_on_collection_event, on_collection_event, CollectionEvent, ON_COLLECTION_EVENT);
function!(set_on_heap_resize, on_heap_resize, HeapResize, GC_on_heap_resize);
function!(set_stop_function, stop_function, StopFunction, STOP_FUNCTION);
function!(set_oom_fn, oom_fn, OomFunction, GC_oom_fn);
function!(set_warn_proc, warn_proc, WarnProc, WARN);
function!(set_abort_function, abort_function, AbortFunction, GC_on_abort);

pub(crate) fn set_pages_executable(on: c_int) {
    PAGES_EXECUTABLE.store(on, Relaxed);
}

pub(crate) fn set_time_limit_tv(time: TimeLimit) {
    set_time_limit(time.ms);
    TIME_LIMIT_NS.store(time.ns as usize, Relaxed);
}

pub(crate) fn time_limit_tv() -> TimeLimit {
    TimeLimit { ms: time_limit(), ns: TIME_LIMIT_NS.load(Relaxed) as c_ulong }
}

pub(crate) fn no_dls() -> c_int {
    GC_no_dls.load(Relaxed)
}

/// libgc's usual divisor, and the growth of a heap with it (docs/results, "Programs of libgc").
const DEFAULT_DIVISOR: usize = 3;
const DEFAULT_PERCENT: usize = 200;
/// The size to which a heap may grow for each thread, however little is alive: programs of libgc are used to heaps of a few
/// megabytes.
pub(crate) const SMALL_HEAP: usize = 6 << 20;

pub(crate) fn free_space_divisor() -> usize {
    GC_free_space_divisor.load(Relaxed)
}

/// The growth, in percent of what is alive, that the divisor asks for: libgc lets at least so large a part of what it has traced be
/// allocated between two collections.
pub(crate) fn percent() -> u32 {
    (DEFAULT_PERCENT * DEFAULT_DIVISOR / free_space_divisor().max(1)).clamp(1, 10_000) as u32
}
