//! The bottom of a thread's stack: what the program asks of it, and where it moves it to, as it switches to another stack. Each thread
//! has a word for it, which is read in each stop: the first thread's is `GC_stackbottom`, another's lies in its mutator. Invariant: the
//! heap follows a thread's word as long as the thread is attached.

use crate::exports::types::{Ptr, StackBase, StackFunction, Thread};
use crate::exports::variables::GC_stackbottom;
use crate::process::mutator;
use crate::report;
use core::ffi::c_int;
use core::ptr::from_ref;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use heapwood_gc::{Client, Mutator};
use heapwood_os::threads::stack::StackBounds;

/// This library's words in a mutator.
#[repr(C)]
struct Words {
    /// One past the highest word of the thread's stack, unless it is the first thread.
    bottom: AtomicUsize,
    /// 1 in the first thread.
    is_first: AtomicUsize,
    /// The thread, as the C library names it.
    thread: AtomicUsize,
}

fn words(client: &Client) -> &Words {
    // SAFETY: the client's room is larger, aligned for words, and zero when a thread is attached.
    unsafe { &*client.get().cast::<Words>() }
}

/// Whether the words are those of this thread.
pub(crate) fn is_of(client: &Client, thread: Thread) -> bool {
    words(client).thread.load(Relaxed) == thread as usize
}

/// The word of a thread.
fn bottom(mutator: &Mutator) -> &AtomicUsize {
    let words = words(mutator.client());
    if words.is_first.load(Relaxed) != 0 { &GC_stackbottom } else { &words.bottom }
}

/// The bottom of the calling thread's own stack.
fn own() -> usize {
    match StackBounds::current() {
        Some(bounds) => bounds.high,
        None => report::abort(format_args!("the system does not say where a thread's stack ends")),
    }
}

/// A thread was attached. The first has told where its stack ends, or is asked.
pub(crate) fn begin(mutator: &'static Mutator, is_first: bool) {
    let words = words(mutator.client());
    words.is_first.store(is_first.into(), Relaxed);
    // SAFETY: it has no arguments.
    words.thread.store(unsafe { libc::pthread_self() } as usize, Relaxed);
    let word = bottom(mutator);
    if word.load(Relaxed) == 0 {
        word.store(own(), Relaxed);
    }
    // SAFETY: the word stays as long as the mutator; a thread's words from its stack pointer to the bottom that it has set can be
    // read.
    if let Err(why) = unsafe { mutator.stacks().follow_bottom(Some(word)) } {
        report::abort(format_args!("the stack of a thread cannot be followed: {why}"));
    }
}

/// `GC_get_stack_base`: 0 if the system knows it.
///
/// # Safety
/// 1. `base` may be written.
pub(crate) unsafe fn stack_base(base: *mut StackBase) -> c_int {
    // SAFETY: contract 1.
    unsafe { base.write(StackBase { base: own() as Ptr }) };
    0
}

/// `GC_get_my_stackbottom`: a name of the thread, and the bottom of its stack.
///
/// # Safety
/// 1. `base` may be written.
pub(crate) unsafe fn my_bottom(base: *mut StackBase) -> Ptr {
    let mutator = mutator();
    // SAFETY: contract 1.
    unsafe { base.write(StackBase { base: bottom(mutator).load(Relaxed) as Ptr }) };
    from_ref(mutator).cast_mut().cast()
}

/// `GC_set_stackbottom`; null: of the calling thread.
///
/// # Safety
/// 1. `base` can be read; `thread` is null, or a name of a registered thread.
pub(crate) unsafe fn set_bottom(thread: Ptr, base: *const StackBase) {
    // SAFETY: contract 1.
    let (named, base) = unsafe { (thread.cast::<Mutator>().as_ref(), base.read().base) };
    bottom(named.unwrap_or_else(|| mutator())).store(base as usize, Relaxed);
}

/// `GC_call_with_stack_base`.
///
/// # Safety
/// 1. The function may be called with the argument.
pub(crate) unsafe fn call_with_base(function: StackFunction, argument: Ptr) -> Ptr {
    let mut base = StackBase { base: own() as Ptr };
    // SAFETY: contract 1.
    unsafe { function(&mut base, argument) }
}
