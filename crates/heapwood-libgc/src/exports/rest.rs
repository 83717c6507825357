//! What does nothing, or the nearest safe thing; the list says which is which (`symbols`). Invariant: nothing here frees an object
//! that the function it stands for would have kept.

use crate::exports::types::*;
use crate::finalizers;
use crate::objects::alloc;
use crate::objects::held;
use core::ffi::{c_char, c_int, c_uint};
use core::ptr::null_mut;

pub(crate) fn nothing() {}

pub(crate) fn zero() -> c_int {
    0
}

pub(crate) fn same(argument: Ptr) -> Ptr {
    argument
}

pub(crate) fn ignore_int(_: c_int) {}

pub(crate) fn ignore_word(_: usize) {}

pub(crate) fn ignore_const(_: Const) {}

pub(crate) fn ignore_list(_: c_int, _: usize) {}

pub(crate) fn ignore_description(_: c_int, _: Function) {}

pub(crate) fn ignore_disclaim(_: c_int, _: Function, _: c_int) {}

pub(crate) fn ignore_gcj(_: c_int, _: Ptr) {}

pub(crate) fn ignore_altstack(_: Ptr, _: usize, _: Ptr, _: usize) {}

/// `GC_ignore_warn_proc`.
pub(crate) unsafe fn ignore_warning(_: *mut c_char, _: usize) {}

/// `GC_get_version`: 8.2.2.
pub(crate) fn version(_: usize) -> c_uint {
    8 << 16 | 2 << 8 | 2
}

/// `GC_ptr_store_and_dirty`.
///
/// # Safety
/// 1. The place may be written.
pub(crate) unsafe fn store(place: Ptr, value: Const) {
    // SAFETY: contract 1.
    unsafe { place.cast::<Const>().write(value) };
}

static THREAD_EVENT: Pointer = Pointer::null();
static TOGGLEREF: Pointer = Pointer::null();

pub(crate) fn set_thread_event(function: ThreadEvent) {
    THREAD_EVENT.set(function.map_or(null_mut(), |function| function as Ptr));
}

pub(crate) fn thread_event() -> ThreadEvent {
    // SAFETY: null, or what the program has set.
    unsafe { core::mem::transmute::<Ptr, ThreadEvent>(THREAD_EVENT.get()) }
}

pub(crate) fn set_toggleref(function: Function) {
    TOGGLEREF.set(function.cast_mut());
}

pub(crate) fn toggleref() -> Function {
    TOGGLEREF.get()
}

/// `GC_toggleref_add`: the object is kept.
pub(crate) fn toggleref_add(object: Ptr, _: c_int) -> c_int {
    if held::hold(object) { 0 } else { 2 }
}

/// `GC_enumerate_reachable_objects_inner`.
pub(crate) fn enumerate(_: Reachable, _: Ptr) {}

/// An object of gcj's: its table is its first word.
pub(crate) fn gcj_malloc(n: usize, table: Ptr) -> Ptr {
    let object = alloc::malloc(n.max(size_of::<Ptr>()));
    if !object.is_null() {
        // SAFETY: the object has a word.
        unsafe { object.cast::<Ptr>().write(table) };
    }
    object
}

/// `struct GC_finalizer_closure`.
#[repr(C)]
struct Closure {
    function: Finalizer,
    data: Ptr,
}

/// Calls what the closure says now: the program may have written its data after the object was made.
unsafe extern "C-unwind" fn call_closure(object: Ptr, closure: Ptr) {
    // SAFETY: the finalizer's data are the closure, which stays as long as the object.
    let Closure { function, data } = unsafe { closure.cast::<Closure>().read() };
    if let Some(function) = function {
        // SAFETY: the program has given it.
        unsafe { function(object, data) };
    }
}

/// `GC_finalized_malloc`: an object with an ordinary finalizer, an ordered one: what the object leads to is whole when it is called.
///
/// # Safety
/// 1. The closure can be read, as long as the object is there.
pub(crate) unsafe fn finalized_malloc(n: usize, closure: Const) -> Ptr {
    let object = alloc::malloc(n);
    if !object.is_null() {
        // SAFETY: contract 1.
        unsafe {
            finalizers::register(
                object,
                Some(call_closure),
                closure.cast_mut().cast(),
                null_mut(),
                null_mut(),
            );
        }
    }
    object
}
