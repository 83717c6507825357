//! Pointers that a program is about to follow.

use core::ffi::c_void;
use core::ptr::NonNull;
use heapwood_gc::{may_find_stale_pointers, stale_pointer};
use heapwood_os::diagnose::message::corrupt;

/// Ends the process if a heap in verify mode knows that the object at an address was freed; returns the address.
#[unsafe(no_mangle)]
pub extern "C" fn hw_check(object: *const c_void) -> *mut c_void {
    if may_find_stale_pointers()
        && let Some(object) = NonNull::new(object.cast_mut().cast())
        && let Some(stale) = stale_pointer(object)
    {
        corrupt(format_args!("a pointer leads to {stale}"));
    }
    object.cast_mut()
}
