//! The functions of the program's variables at first. Invariant: one that gc.h says to end the process does.

use crate::exports::types::Ptr;
use crate::report::log::log;
use core::ffi::c_char;
use core::ptr::null_mut;

/// `GC_oom_fn`.
pub(crate) unsafe extern "C-unwind" fn no_memory(_: usize) -> Ptr {
    null_mut()
}

/// The program's function for the end of the process, at first.
pub(crate) unsafe extern "C-unwind" fn no_abort(text: *const c_char) {
    if !text.is_null() {
        // SAFETY: the text ends in a zero.
        let text = unsafe { core::ffi::CStr::from_ptr(text) };
        log(format_args!("{}\n", text.to_str().unwrap_or("?")));
    }
}

/// The functions of checks of pointers.
pub(crate) unsafe extern "C-unwind" fn fail_one(p: Ptr) {
    log(format_args!("heapwood-libgc: {p:p} failed a check of pointers\n"));
    std::process::abort()
}

/// The same for two.
pub(crate) unsafe extern "C-unwind" fn fail_two(p: Ptr, q: Ptr) {
    log(format_args!("heapwood-libgc: {p:p} and {q:p} are not in the same object\n"));
    std::process::abort()
}
