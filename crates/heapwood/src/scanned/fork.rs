//! Forks: the thread that forks holds the locks of the blocks' space meanwhile, so that the child finds each list whole. What another thread
//! was changing without a lock is that thread's, which the child does not have.
//!
//! A thread that a signal has stopped may hold such a lock until its collection ends, and a collection may wait for a fork that heapwood-gc
//! has begun. So this function has to run before those of heapwood-gc: the last that is registered does. It is registered once with the first
//! block, for programs that make no heap, and once more with the first heap, and counts the calls.
//! Invariant: the forking thread holds all locks from the first call of `prepare` to the last of `resume`.

use super::blocks::Blocks;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heapwood_os::ForkLock;
use heapwood_os::process::fork::at_fork;
use heapwood_os::threads::lock_order;

/// How many times `prepare` has run for the fork under way; one thread forks at a time, since the C library has a lock for that.
static PREPARED: AtomicU32 = AtomicU32::new(0);

/// Registers the functions. A system without memory for them has forks without them.
pub(super) fn register() {
    // SAFETY: they may run on any thread that forks.
    let _ = unsafe { at_fork(prepare, resume, resume) };
}

/// The same with the first heap.
pub(super) fn register_behind_the_heaps() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.swap(true, Ordering::Relaxed) {
        register();
    }
}

/// Takes all locks, or none.
fn hold_all(blocks: &Blocks) -> bool {
    let (mut held, mut all) = (0, true);
    blocks.space().fork_locks(&mut |lock| {
        all = all && lock.try_hold();
        held += u32::from(all);
    });
    if !all {
        let_go(blocks, held);
    }
    all
}

/// Frees the first locks.
fn let_go(blocks: &Blocks, mut held: u32) {
    blocks.space().fork_locks(&mut |lock: &dyn ForkLock| {
        if held > 0 {
            held -= 1;
            // SAFETY: this thread holds it; in the child it is the only one.
            unsafe { lock.let_go() };
        }
    });
}

unsafe extern "C" fn prepare() {
    let Some(blocks) = Blocks::get() else { return };
    if PREPARED.fetch_add(1, Ordering::Relaxed) == 0 {
        while !hold_all(blocks) {
            std::thread::yield_now();
        }
        // The heaps take theirs now, which come before these in the order; a fork waits for none without bound.
        lock_order::forget_all();
    }
}

unsafe extern "C" fn resume() {
    let Some(blocks) = Blocks::get() else { return };
    if PREPARED.fetch_sub(1, Ordering::Relaxed) == 1 {
        let_go(blocks, u32::MAX);
    }
}
