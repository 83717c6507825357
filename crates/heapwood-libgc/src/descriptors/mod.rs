//! Mark descriptors (gc_mark.h): a word that says which words of an object may be pointers, by a length, a bitmap, a procedure, or
//! a descriptor in the object. Entries that procedures push wait on a small stack of the call; what they mark at once goes to the
//! marker's own. Invariant: a descriptor that leads to itself by way of a procedure takes no deeper stack.

pub(crate) mod bitmaps;
pub(crate) mod procedures;
pub(crate) mod typed;

use crate::exports::types::{Entry, Ptr};
use core::mem::MaybeUninit;
use heapwood_gc::Tracer;
use heapwood_layout::{TraceContext, WORD};

const TAGS: usize = 3;
const LENGTH: usize = 0;
const BITMAP: usize = 1;
const PROCEDURE: usize = 2;
/// What is added to the displacement of a descriptor that a type has.
const INDIRECT_BIAS: usize = 0x10;
/// Bits of a procedure's number.
const NUMBER_BITS: u32 = 6;
const TAG_BITS: u32 = 2;

/// A descriptor with these bits has the number of a bitmap that this library keeps: a procedure that programs cannot make.
const WIDE: usize = 1 << TAG_BITS | PROCEDURE;
const _: () = assert!(WIDE >> TAG_BITS < 8, "libgc keeps eight numbers for itself");

/// The descriptor of a bitmap that is kept under a number.
pub(crate) fn of_wide(number: usize) -> usize {
    number << (TAG_BITS + NUMBER_BITS) | WIDE
}

/// Entries that one object's procedures may have pushed. (libgc's stack has 4096 at first, of which a procedure may use a part.)
const ENTRIES: usize = 512;

/// The entries of a call, and behind them what marks (`mark_and_push`).
#[repr(C)]
struct Stack {
    entries: [MaybeUninit<Entry>; ENTRIES],
    context: *mut TraceContext,
}

/// Reports the words of what begins at `start` and is described so.
///
/// # Safety
/// 1. The collector calls a trace function with the context; the descriptor is right.
pub(crate) unsafe fn scan(start: usize, descriptor: usize, context: *mut TraceContext) {
    match descriptor & TAGS {
        // SAFETY: contract 1.
        LENGTH => unsafe { words(start, descriptor, context) },
        // SAFETY: contract 1.
        BITMAP => unsafe { bits(start, descriptor, context) },
        // SAFETY: contract 1.
        _ => unsafe { scan_with_stack(Entry { start, descriptor }, context) },
    }
}

/// # Safety
/// 1. As for [`scan`].
unsafe fn scan_with_stack(first: Entry, context: *mut TraceContext) {
    let mut stack = Stack { entries: [const { MaybeUninit::uninit() }; ENTRIES], context };
    let base: *mut Entry = (&raw mut stack.entries).cast();
    // libgc's stacks are named by their topmost entry.
    let empty = base.wrapping_sub(1);
    let limit = base.wrapping_add(ENTRIES);
    // SAFETY: the first entry lies in the stack.
    unsafe { base.write(first) };
    let mut top = base;
    while top != empty {
        // SAFETY: it lies in the stack, and was written.
        let Entry { start, descriptor } = unsafe { top.read() };
        top = top.wrapping_sub(1);
        // SAFETY: contract 1; the procedure is the program's, and pushes no more entries than it has been given.
        unsafe {
            match descriptor & TAGS {
                LENGTH => words(start, descriptor, context),
                BITMAP => bits(start, descriptor, context),
                PROCEDURE if descriptor & ((1 << (TAG_BITS + NUMBER_BITS)) - 1) == WIDE => {
                    let mut tracer = Tracer::from_context(context);
                    bitmaps::for_each_word(descriptor >> (TAG_BITS + NUMBER_BITS), |at| {
                        tracer.visit_ambiguous(((start + at * WORD) as *const usize).read());
                    });
                }
                PROCEDURE => {
                    let number = descriptor >> TAG_BITS & ((1 << NUMBER_BITS) - 1);
                    top =
                        procedures::call(number, start, (top, limit), descriptor >> (TAG_BITS + NUMBER_BITS));
                }
                _ => {
                    let descriptor = of_object(start, descriptor);
                    if descriptor != 0 {
                        top = top.wrapping_add(1);
                        top.write(Entry { start, descriptor });
                    }
                }
            }
        }
    }
}

/// What marks, of the stack with this limit.
///
/// # Safety
/// 1. The limit is one that a mark procedure was given, which is running.
unsafe fn context_at(limit: *mut Entry) -> *mut TraceContext {
    // SAFETY: contract 1; the context lies behind the entries.
    unsafe { limit.cast::<*mut TraceContext>().read() }
}

/// The descriptor that an object has itself; 0 for none.
///
/// # Safety
/// 1. As for [`scan`].
unsafe fn of_object(start: usize, descriptor: usize) -> usize {
    let displacement = descriptor & !TAGS;
    if (descriptor as isize) >= 0 {
        // SAFETY: contract 1: it is in the object.
        return unsafe { ((start + displacement) as *const usize).read() };
    }
    // SAFETY: contract 1: the first word is null, or leads to a type.
    unsafe {
        match (start as *const usize).read() {
            0 => 0,
            of_type => {
                (of_type.wrapping_sub(displacement.wrapping_add(INDIRECT_BIAS)) as *const usize).read()
            }
        }
    }
}

/// # Safety
/// 1. As for [`scan`]; so many bytes can be read.
unsafe fn words(start: usize, bytes: usize, context: *mut TraceContext) {
    // SAFETY: contract 1.
    unsafe { Tracer::from_context(context).visit_words(start..start + bytes) };
}

/// # Safety
/// 1. As for [`scan`].
unsafe fn bits(start: usize, descriptor: usize, context: *mut TraceContext) {
    // SAFETY: contract 1.
    let mut tracer = unsafe { Tracer::from_context(context) };
    let (mut bits, mut at) = (descriptor & !TAGS, start);
    while bits != 0 {
        if (bits as isize) < 0 {
            // SAFETY: contract 1.
            tracer.visit_ambiguous(unsafe { (at as *const usize).read() });
        }
        (bits, at) = (bits << 1, at + WORD);
    }
}

/// The descriptor of a typed object, in its last word.
///
/// # Safety
/// 1. It is a typed object of so many bytes.
pub(crate) unsafe fn of_typed(start: usize, bytes: usize) -> usize {
    // SAFETY: contract 1.
    unsafe { ((start + (bytes & !(WORD - 1)) - WORD) as *const usize).read() }
}

/// Reports the words of an array of typed elements, whose size, number and descriptor are in its last three words.
///
/// # Safety
/// 1. It is such an array of so many bytes.
pub(crate) unsafe fn scan_array(start: usize, bytes: usize, context: *mut TraceContext) {
    let last = (start + (bytes & !(WORD - 1))) as *const [usize; 3];
    // SAFETY: contract 1; a new array has zeros, so no elements.
    unsafe {
        let [size, count, descriptor] = last.sub(1).read();
        (0..count).for_each(|at| scan(start + at * size, descriptor, context));
    }
}

/// `GC_mark_and_push`: the object that a word points to or into is alive. Returns the top as it was.
///
/// # Safety
/// 1. A mark procedure that is running was given the limit.
pub(crate) unsafe fn mark_and_push(
    object: Ptr,
    top: *mut Entry,
    limit: *mut Entry,
    _: *mut Ptr,
) -> *mut Entry {
    // SAFETY: contract 1.
    unsafe { Tracer::from_context(context_at(limit)) }.visit_ambiguous(object as usize);
    top
}
