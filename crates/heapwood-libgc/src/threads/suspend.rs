//! Threads that the program suspends (javaxfc.h). A registered thread stops as for a collection, and stays stopped; of one that has
//! ended and was not joined this only notes it. Invariant: nothing here waits with the allocation lock.

use crate::exports::types::Thread;
use crate::process::{heap, made};
use crate::report;
use crate::threads::pthreads;
use crate::threads::stacks::is_of;
use core::ffi::c_int;
use heapwood_gc::MisuseError;

fn known<R: Default>(name: &str, result: Result<R, MisuseError>) -> R {
    result.unwrap_or_else(|why| {
        report::warn(format_args!("{name} does nothing here: {why}"));
        R::default()
    })
}

/// `GC_suspend_thread`.
pub(crate) fn suspend(thread: Thread) {
    pthreads::note_suspended(thread, true);
    known("GC_suspend_thread", heap().suspend(|client| is_of(client, thread)));
}

/// `GC_resume_thread`.
pub(crate) fn resume(thread: Thread) {
    pthreads::note_suspended(thread, false);
    known("GC_resume_thread", heap().unsuspend(|client| is_of(client, thread)));
}

/// `GC_is_thread_suspended`.
pub(crate) fn is_suspended(thread: Thread) -> c_int {
    let Some(heap) = made() else { return 0 };
    let is_stopped = || known("GC_is_thread_suspended", heap.is_suspended(|client| is_of(client, thread)));
    (pthreads::is_suspended(thread) || is_stopped()).into()
}
