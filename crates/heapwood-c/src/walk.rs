//! A walk over all objects of a heap. Invariant: it calls the program's function on the calling thread, while others are stopped.

use crate::error::Error;
use crate::status::Status;
use crate::threads::{heap_of, refuse};
use core::ffi::c_void;
use heapwood_gc::Mutator;
use heapwood_os::SYSTEM;

/// The header's `hw_walk_fn`.
pub type WalkFn = unsafe extern "C" fn(*mut c_void, *mut u8, u32, usize);

/// Calls `f` with each object.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. `f` is NULL or may be called with `arg`, and keeps the header's rules.
/// 3. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_walk(m: Option<&Mutator>, f: Option<WalkFn>, arg: *mut c_void) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(f) = f else { return refuse(m, Error::Null("fn")) };
    // Before the stop, in which nothing may ask for memory.
    let numbers = match heap_of(m).types.first_of_shapes(&SYSTEM) {
        Ok(numbers) => numbers,
        Err(e) => return refuse(m, e.into()),
    };
    let walked = m.walk(&mut |object, bytes, shape| {
        let number = shape.map_or(0, |shape| numbers.of(shape));
        let bytes = m.asked_bytes(object).unwrap_or(bytes);
        // SAFETY: contract 2.
        unsafe { f(arg, object.get() as *mut u8, number, bytes) };
    });
    match walked {
        Ok(()) => Status::OK,
        Err(misuse) => refuse(m, misuse.into()),
    }
}
