//! Pointers that a program is about to follow, and who is told of mistakes. Invariant: the function that is told is a `ReportFn`.

use core::ffi::{c_char, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};
use heapwood_gc::{Mutator, Site, may_find_stale_pointers, stale_pointer};
use heapwood_os::diagnose::message::{corrupt, on_report};

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

/// Notes where an object was made; returns the object.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread; `place` ends with a zero byte, and stays as long as the process lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_made(m: &Mutator, object: *mut u8, place: *const c_char) -> *mut u8 {
    if let Some(made) = NonNull::new(object) {
        // SAFETY: contract 1.
        m.note_site(made, unsafe { Site::called(place) });
    }
    object
}

/// The header's `hw_report_fn`.
pub type ReportFn = unsafe extern "C" fn(*const c_char);

/// The program's.
static FUNCTION: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

fn pass_on(text: &str) {
    let function = FUNCTION.load(Ordering::Acquire);
    if !function.is_null() {
        // SAFETY: `hw_on_report` stores nothing but such functions.
        let function = unsafe { core::mem::transmute::<*mut (), ReportFn>(function) };
        // SAFETY: the contract of `hw_on_report`; a zero byte follows a report.
        unsafe { function(text.as_ptr().cast()) };
    }
}

/// Sets the function that gets the reports of the process, or removes it.
///
/// # Safety
/// 1. Any thread may call `f` until it is replaced, and it keeps the header's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_on_report(f: Option<ReportFn>) {
    FUNCTION.store(f.map_or(core::ptr::null_mut(), |f| f as *mut ()), Ordering::Release);
    on_report(f.map(|_| pass_on as fn(&str)));
}
