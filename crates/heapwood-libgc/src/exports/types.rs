//! The types of gc.h, gc_mark.h and gc_disclaim.h, as their functions pass them. Invariant: each has the layout of the C type.

use core::ffi::{c_char, c_int, c_ulong, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// `void *`.
pub(crate) type Ptr = *mut c_void;
/// `const void *`.
pub(crate) type Const = *const c_void;
/// `void (*)(void)`.
pub(crate) type Procedure = Option<unsafe extern "C-unwind" fn()>;
/// Any function, not to be called.
pub(crate) type Function = Const;
/// `GC_finalization_proc`.
pub(crate) type Finalizer = Option<unsafe extern "C-unwind" fn(object: Ptr, data: Ptr)>;
/// `GC_await_finalize_proc`.
pub(crate) type AwaitProc = Option<unsafe extern "C-unwind" fn(object: Ptr)>;
/// `GC_fn_type`.
pub(crate) type Callback = unsafe extern "C-unwind" fn(argument: Ptr) -> Ptr;
/// `GC_stack_base_func`.
pub(crate) type StackFunction = unsafe extern "C-unwind" fn(base: *mut StackBase, argument: Ptr) -> Ptr;
/// `GC_stop_func`.
pub(crate) type StopFunction = Option<unsafe extern "C-unwind" fn() -> c_int>;
/// `GC_oom_func`.
pub(crate) type OomFunction = Option<unsafe extern "C-unwind" fn(bytes: usize) -> Ptr>;
/// `GC_warn_proc`.
pub(crate) type WarnProc = Option<unsafe extern "C-unwind" fn(text: *mut c_char, word: usize)>;
/// `GC_abort_func`.
pub(crate) type AbortFunction = Option<unsafe extern "C-unwind" fn(text: *const c_char)>;
/// `GC_on_heap_resize_proc`.
pub(crate) type HeapResize = Option<unsafe extern "C-unwind" fn(bytes: usize)>;
/// `GC_on_collection_event_proc`.
pub(crate) type CollectionEvent = Option<unsafe extern "C-unwind" fn(event: c_int)>;
/// `GC_on_thread_event_proc`.
pub(crate) type ThreadEvent = Option<unsafe extern "C-unwind" fn(event: c_int, thread: Ptr)>;
/// `GC_has_static_roots_func`.
pub(crate) type HasStaticRoots =
    Option<unsafe extern "C-unwind" fn(name: *const c_char, start: Ptr, bytes: usize) -> c_int>;
/// `GC_reachable_object_proc`.
pub(crate) type Reachable = Option<unsafe extern "C-unwind" fn(object: Ptr, bytes: usize, data: Ptr)>;
/// The function of a thread.
pub(crate) type StartRoutine = unsafe extern "C-unwind" fn(argument: Ptr) -> Ptr;
/// `pthread_t`.
pub(crate) type Thread = libc::pthread_t;
/// `sigset_t`.
pub(crate) type SignalSet = libc::sigset_t;

/// `struct GC_ms_entry`: words to be looked at, and what they are.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Entry {
    /// The first word.
    pub(crate) start: usize,
    /// A descriptor.
    pub(crate) descriptor: usize,
}

/// `GC_mark_proc`. Two words of an object, its own and those of the descriptor, are all that it gets; it returns the top of the
/// stack with what it has pushed.
pub(crate) type MarkProc = Option<
    unsafe extern "C" fn(
        object: *mut usize,
        top: *mut Entry,
        limit: *mut Entry,
        argument: usize,
    ) -> *mut Entry,
>;

/// `struct GC_stack_base`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct StackBase {
    /// One past the highest word of a stack.
    pub(crate) base: Ptr,
}

/// `struct GC_timeval_s`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct TimeLimit {
    /// Milliseconds.
    pub(crate) ms: c_ulong,
    /// Nanoseconds beside them.
    pub(crate) ns: c_ulong,
}

/// `struct GC_prof_stats_s`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ProfStats {
    pub(crate) heap_bytes: usize,
    pub(crate) free_bytes: usize,
    pub(crate) unmapped_bytes: usize,
    pub(crate) bytes_since_gc: usize,
    pub(crate) bytes_before_gc: usize,
    pub(crate) non_gc_bytes: usize,
    pub(crate) gc_no: usize,
    pub(crate) helpers: usize,
    pub(crate) reclaimed_since_gc: usize,
    pub(crate) reclaimed_before_gc: usize,
    pub(crate) freed_since_gc: usize,
    pub(crate) obtained_bytes: usize,
}

/// A variable of the program's with the address of a function or object.
#[repr(transparent)]
pub(crate) struct Pointer(AtomicPtr<c_void>);

impl Pointer {
    pub(crate) const fn null() -> Self {
        Pointer::new(core::ptr::null_mut())
    }

    pub(crate) const fn new(value: Ptr) -> Self {
        Pointer(AtomicPtr::new(value))
    }

    pub(crate) fn get(&self) -> Ptr {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self, value: Ptr) {
        self.0.store(value, Ordering::Release);
    }
}
