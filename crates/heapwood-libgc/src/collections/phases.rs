//! What the program does in collections: callbacks, and roots that only it knows. Invariant: its functions are called on the thread
//! that collects, which is the program's; the roots that it names are those of the stop in which it names them.
//!
//! | called | where | which locks | may it allocate |
//! |---|---|---|---|
//! | start_callback; on_collection_event 0, 6 | before the threads stop | none | no |
//! | push_other_roots; on_collection_event 7, 1 | in the stop | none that another thread can have | no |
//! | on_collection_event 2, 8 | in the stop's end | none | no |
//! | on_collection_event 9, 3, 4, 5; warn_proc, of circles of finalizers; on_heap_resize | when the threads run | none | no |
//! | finalizer_notifier, finalizers | where a thread allocates, or has collected | none | yes |

use crate::collections::stats;
use crate::exports::types::{Const, Ptr};
use crate::exports::variables::GC_gc_no;
use crate::finalizers;
use crate::process;
use crate::report;
use crate::report::printing;
use crate::settings;
use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};
use heapwood_gc::{ClientRoots, CollectionPhases, Heap};
use heapwood_layout::WORD;

/// The moments of `GC_EventType`.
const START: c_int = 0;
const MARK_START: c_int = 1;
const MARK_END: c_int = 2;
const RECLAIM_START: c_int = 3;
const RECLAIM_END: c_int = 4;
const END: c_int = 5;
const PRE_STOP: c_int = 6;
const POST_STOP: c_int = 7;
const PRE_START: c_int = 8;
const POST_START: c_int = 9;

fn tell(event: c_int) {
    if let Some(function) = settings::on_collection_event() {
        // SAFETY: the program has set it.
        unsafe { function(event) };
    }
}

/// The receiver of roots, in a stop while the program names them.
static ROOTS: AtomicPtr<ClientRoots<'static>> = AtomicPtr::new(null_mut());
/// The program was told of this stop.
static IS_TOLD: AtomicBool = AtomicBool::new(false);
/// The size of the heap when the program was last told of it.
static TOLD_SIZE: AtomicUsize = AtomicUsize::new(0);

struct Program;

// SAFETY: the program's functions keep what gc.h says of them, which is these promises; `roots` takes no lock.
unsafe impl CollectionPhases for Program {
    fn before(&self) {
        tell(START);
        if let Some(function) = settings::start_callback() {
            // SAFETY: the program has set it.
            unsafe { function() };
        }
        printing::before_collection();
    }

    fn lock(&self) {
        IS_TOLD.store(false, Relaxed);
        tell(PRE_STOP);
    }

    fn roots(&self, roots: &mut ClientRoots<'_>) {
        if !IS_TOLD.swap(true, Relaxed) {
            tell(POST_STOP);
            tell(MARK_START);
        }
        if let Some(function) = settings::push_other_roots() {
            ROOTS.store((&raw mut *roots).cast(), Relaxed);
            // SAFETY: the program has set it.
            unsafe { function() };
            ROOTS.store(null_mut(), Relaxed);
        }
    }

    fn unlock(&self) {
        tell(MARK_END);
        tell(PRE_START);
    }

    fn after(&self) {
        let Some(heap) = process::made() else { return };
        let stats = heap.inspect().stats();
        GC_gc_no.fetch_add(1, Relaxed);
        let allocated = stats::after_collection(&stats);
        tell(POST_START);
        tell(RECLAIM_START);
        tell(RECLAIM_END);
        printing::after_collection(&stats, allocated);
        finalizers::warn_of_circles(stats.finalizer_circles);
        if let Some(function) = settings::on_heap_resize() {
            let size = stats.committed_bytes;
            if TOLD_SIZE.swap(size, Relaxed) != size {
                // SAFETY: the program has set it.
                unsafe { function(size) };
            }
        }
        tell(END);
    }
}

/// The heap was made.
pub(crate) fn begin(heap: &'static Heap) {
    finalizers::begin(heap);
    if let Err(error) = heap.set_phases(Some(&Program)) {
        report::abort(format_args!("the heap does not tell of its collections: {error}"));
    }
}

/// Runs `f` with the receiver of roots, if the program is asked for them just now.
fn with_roots(f: impl FnOnce(&mut ClientRoots<'static>)) {
    // SAFETY: it is set as long as the receiver is there, on the one thread that runs.
    if let Some(roots) = unsafe { ROOTS.load(Relaxed).as_mut() } {
        f(roots);
    }
}

/// `GC_push_all`: words that may be pointers, from `GC_push_other_roots`.
///
/// # Safety
/// 1. They can be read, until the threads go on.
pub(crate) unsafe fn push_all(low: Ptr, high: Ptr) {
    let (low, high) = ((low as usize).next_multiple_of(WORD), high as usize & !(WORD - 1));
    if low < high {
        // SAFETY: contract 1.
        with_roots(|roots| unsafe { roots.words(low..high) });
    }
}

/// `GC_push_conditional`.
///
/// # Safety
/// 1. As for [`push_all`].
pub(crate) unsafe fn push_conditional(low: Ptr, high: Ptr, _all: c_int) {
    // SAFETY: contract 1.
    unsafe { push_all(low, high) };
}

/// `GC_is_marked`: outside of collections each object counts as marked.
pub(crate) fn is_marked(object: Const) -> c_int {
    crate::objects::lookup::object(object as usize).is_some().into()
}

/// `GC_set_mark_bit`.
pub(crate) fn set_mark_bit(object: Const) {
    with_roots(|roots| roots.word(object as usize));
}
