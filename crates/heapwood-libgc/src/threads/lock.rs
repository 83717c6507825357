//! libgc's allocation lock, as its programs see it: one lock of the process, during which no collection begins, since no signal
//! stops a thread that has it. It also protects the tables of this library. A thread may take it again; what it does meanwhile does
//! not allocate. Invariant: `OWNER` is the thread that has it, or 0; a forking thread has it, so a child finds it free.

use crate::exports::types::{Callback, Ptr};
use crate::process::heap;
use core::cell::UnsafeCell;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use heapwood_os::threads::stack::thread_pointer;

static OWNER: AtomicUsize = AtomicUsize::new(0);

/// Gives the ownership back, also if the program's function throws.
struct Owned;

impl Drop for Owned {
    fn drop(&mut self) {
        OWNER.store(0, Relaxed);
    }
}

/// Runs `f` with the lock.
pub(crate) fn with<R>(f: impl FnOnce() -> R) -> R {
    if OWNER.load(Relaxed) == thread_pointer() {
        return f();
    }
    let _guard = heap().lock_for_client();
    OWNER.store(thread_pointer(), Relaxed);
    let _owned = Owned;
    f()
}

/// A value that is used with the lock.
pub(crate) struct Locked<T>(UnsafeCell<T>);

// SAFETY: only the thread that has the lock uses the value.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) const fn new(value: T) -> Self {
        Locked(UnsafeCell::new(value))
    }

    /// Runs `f` with the value. `f` calls no function of the program.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the lock is this thread's; `f` does not come back here.
        with(|| f(unsafe { &mut *self.0.get() }))
    }
}

/// Room for a guard between [`lock`] and [`unlock`].
struct Held {
    guard: UnsafeCell<MaybeUninit<[usize; 8]>>,
    drop: UnsafeCell<Option<unsafe fn(*mut ())>>,
    depth: UnsafeCell<u32>,
}

// SAFETY: only the thread that has the lock uses it.
unsafe impl Sync for Held {}

static HELD: Held = Held {
    guard: UnsafeCell::new(MaybeUninit::uninit()),
    drop: UnsafeCell::new(None),
    depth: UnsafeCell::new(0),
};

/// # Safety
/// 1. `at` has a value that nobody uses afterwards.
unsafe fn drop_at<T>(at: *mut ()) {
    // SAFETY: contract 1.
    unsafe { at.cast::<T>().drop_in_place() };
}

fn keep<T>(guard: T) {
    const { assert!(size_of::<T>() <= size_of::<[usize; 8]>() && align_of::<T>() <= align_of::<usize>()) };
    let guard = ManuallyDrop::new(guard);
    // SAFETY: the lock is this thread's; the room is large enough.
    unsafe {
        core::ptr::copy_nonoverlapping(&*guard, HELD.guard.get().cast::<T>(), 1);
        *HELD.drop.get() = Some(drop_at::<T>);
    }
}

/// `GC_alloc_lock`.
pub(crate) fn lock() {
    if OWNER.load(Relaxed) != thread_pointer() {
        keep(heap().lock_for_client());
        OWNER.store(thread_pointer(), Relaxed);
    }
    // SAFETY: the lock is this thread's.
    unsafe { *HELD.depth.get() += 1 };
}

/// `GC_alloc_unlock`.
pub(crate) fn unlock() {
    if OWNER.load(Relaxed) != thread_pointer() {
        return;
    }
    // SAFETY: the lock is this thread's until the guard is dropped, and then not used.
    unsafe {
        *HELD.depth.get() -= 1;
        if *HELD.depth.get() == 0
            && let Some(drop) = (*HELD.drop.get()).take()
        {
            let mut guard = HELD.guard.get().read();
            OWNER.store(0, Relaxed);
            drop(guard.as_mut_ptr().cast());
        }
    }
}

/// `GC_call_with_alloc_lock`.
///
/// # Safety
/// 1. The function may be called with the argument.
pub(crate) unsafe fn call_with(function: Callback, argument: Ptr) -> Ptr {
    // SAFETY: contract 1.
    with(|| unsafe { function(argument) })
}
