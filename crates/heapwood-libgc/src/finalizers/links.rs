//! Disappearing links, short and long, over the heap's links. libgc returns 0 for success, 1 where the place had a link before, 2
//! where there is no memory, 4 where there is no link to move. Invariant: a word with a link is written by the collector alone,
//! when the object is dead; moving a link writes none.

use crate::exports::types::{Const, Ptr};
use crate::objects::lookup;
use crate::process::{made, mutator};
use crate::report;
use core::ffi::c_int;
use core::ptr::NonNull;
use heapwood_gc::Refusal;

const SUCCESS: c_int = 0;
const DUPLICATE: c_int = 1;
const NO_MEMORY: c_int = 2;
const NOT_FOUND: c_int = 4;

fn add(link: *mut Ptr, object: Const, is_long: bool) -> c_int {
    let mutator = mutator();
    let had = mutator.read_link(link.cast()).is_ok_and(|object| object.is_some());
    let Some(object) = NonNull::new(object.cast_mut().cast()) else { return SUCCESS };
    // SAFETY: the program promises both of its place.
    match unsafe { mutator.add_link(link.cast(), object, is_long) } {
        Ok(()) if had => DUPLICATE,
        Ok(()) => SUCCESS,
        // What is no object never dies.
        Err(Refusal::CannotReferWeakly { .. }) => SUCCESS,
        Err(error @ Refusal::NoSlot { .. }) => {
            report::abort(format_args!("a disappearing link is refused: {error}"))
        }
        Err(_) => NO_MEMORY,
    }
}

/// `GC_register_disappearing_link`: of the object that the word points to or into.
///
/// # Safety
/// 1. The word can be read.
pub(crate) unsafe fn register(link: *mut Ptr) -> c_int {
    // SAFETY: contract 1.
    match lookup::object(unsafe { link.read() } as usize) {
        Some(object) => add(link, object.base as Const, false),
        None => report::abort(format_args!("GC_register_disappearing_link: {link:p} refers to no object")),
    }
}

/// `GC_general_register_disappearing_link`.
pub(crate) fn register_general(link: *mut Ptr, object: Const) -> c_int {
    add(link, object, false)
}

/// `GC_register_long_link`.
pub(crate) fn register_long(link: *mut Ptr, object: Const) -> c_int {
    add(link, object, true)
}

/// `GC_unregister_disappearing_link`, and of a long one: 1 if there was a link.
pub(crate) fn unregister(link: *mut Ptr) -> c_int {
    made().is_some_and(|heap| heap.remove_link(link.cast())).into()
}

/// `GC_move_disappearing_link`.
pub(crate) fn move_short(link: *mut Ptr, to: *mut Ptr) -> c_int {
    move_link(link, to, false)
}

/// `GC_move_long_link`.
pub(crate) fn move_long(link: *mut Ptr, to: *mut Ptr) -> c_int {
    move_link(link, to, true)
}

fn move_link(link: *mut Ptr, to: *mut Ptr, is_long: bool) -> c_int {
    let mutator = mutator();
    let of = |link: *mut Ptr| mutator.read_link(link.cast()).ok().flatten();
    // The object stays alive, since it is on the stack.
    let Some(object) = of(link) else { return NOT_FOUND };
    if link == to {
        return SUCCESS;
    }
    if of(to).is_some() {
        return DUPLICATE;
    }
    let added = add(to, object.as_ptr().cast_const().cast(), is_long);
    if added == SUCCESS {
        unregister(link);
    }
    added
}
