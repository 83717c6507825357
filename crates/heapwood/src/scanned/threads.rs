//! The allocation buffers of the blocks' space: a set for each thread that allocates. A thread takes one when it first allocates or frees,
//! and gives it back when it ends, with the memory in it; the next thread goes on with that. A thread whose destructors allocate after that
//! takes one again, four times at most, as the C library runs them; then the set stays behind.
//! Invariant: a set is one thread's, or free. Free sets are a stack of their numbers and one.

use super::magazine::Magazine;
use super::size::{KINDS, Place};
use core::cell::Cell;
use core::ffi::c_void;
use core::num::NonZeroU32;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use heapwood_heap::{AllocBuffer, MAX_SHAPES, Owner, Space, ThreadCache};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{MappedArray, NumberStack, OsError, SYSTEM, ThreadValue};

/// The most threads at a time; others use the system's allocator.
const MOST: usize = 1 << 12;
/// As many at least, where the system has few addresses.
const LEAST: usize = 1 << 4;

/// The buffers of a thread.
#[repr(C)]
pub(super) struct Set {
    buffers: [AllocBuffer; MAX_SHAPES],
    cache: ThreadCache,
    magazines: [Magazine; KINDS],
    /// The next free one.
    next: AtomicU32,
    /// All sets.
    of: AtomicPtr<Threads>,
}

// SAFETY: zeros are buffers without a run, an empty cache, empty stacks, and the end of a list.
unsafe impl Zeroed for Set {}

impl Set {
    /// What the thread has freed last of a kind of cells.
    #[inline(always)]
    pub(super) fn magazine(&self, place: Place) -> &Magazine {
        &self.magazines[place.kind]
    }

    /// The same, by the number of the kind.
    #[inline(always)]
    pub(super) fn magazine_of(&self, kind: usize) -> &Magazine {
        &self.magazines[kind]
    }

    /// The calling thread's, if it has one and does not use it further up.
    #[inline(always)]
    pub(super) fn idle() -> Option<&'static Set> {
        if BUSY.get() { None } else { MINE.get().map(|set| &set.0) }
    }

    /// The right to use it.
    ///
    /// # Safety
    /// 1. It is the calling thread's, and of this space.
    #[inline(always)]
    pub(super) unsafe fn owner<'s>(&'s self, space: &'s Space) -> Owner<'s> {
        // SAFETY: so many buffers, zeroed when new, which stay; contract 1.
        unsafe { space.owner(NonNull::from(&self.buffers).cast(), &self.cache) }
    }
}

thread_local! {
    // Neither has a destructor, so both can be used until the thread has ended.
    static MINE: Cell<Option<&'static SetOfThread>> = const { Cell::new(None) };
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A set's address, which is shared by threads that do not use it at the same time.
pub(super) struct SetOfThread(Set);

// SAFETY: zeros are those of the set.
unsafe impl Zeroed for SetOfThread {}
// SAFETY: a set is used by the thread that has taken it.
unsafe impl Sync for SetOfThread {}

/// All sets.
pub(super) struct Threads {
    sets: MappedArray<SetOfThread>,
    used: AtomicUsize,
    free: NumberStack,
}

// SAFETY: the stored values are sets that the thread has taken.
static ENDS: ThreadValue = unsafe { ThreadValue::new(thread_ends) };

unsafe extern "C" fn thread_ends(set: *mut c_void) {
    MINE.set(None);
    // SAFETY: the word is a set that the thread had.
    let set = unsafe { &(*set.cast::<SetOfThread>()).0 };
    // SAFETY: who gave the set out is never dropped, and has noted itself.
    if let Some(threads) = unsafe { set.of.load(Ordering::Acquire).as_ref() } {
        threads.give_back(core::ptr::from_ref(set) as usize);
    }
}

impl Threads {
    pub(super) fn new() -> Result<Self, OsError> {
        let mut most = MOST;
        let sets = loop {
            match MappedArray::new(&SYSTEM, most) {
                Err(_) if most > LEAST => most /= 2,
                done => break done?,
            }
        };
        Ok(Threads { sets, used: AtomicUsize::new(0), free: NumberStack::new() })
    }

    /// Calls `f` with the calling thread's set, unless it is being used further up, or there is none.
    #[inline(always)]
    pub(super) fn with<R>(&self, f: impl FnOnce(&'static Set) -> Option<R>) -> Option<R> {
        if BUSY.replace(true) {
            return None;
        }
        let result = MINE.get().or_else(|| self.take()).and_then(|set| f(&set.0));
        BUSY.set(false);
        result
    }

    #[cold]
    fn take(&self) -> Option<&'static SetOfThread> {
        let number = self.pop().or_else(|| {
            let number = self.used.load(Ordering::Relaxed);
            let most = self.sets.len();
            let number = if number < most { self.used.fetch_add(1, Ordering::Relaxed) } else { most };
            (number < most && self.sets.commit(number..number + 1).is_ok()).then_some(number)
        })?;
        let set = self.sets.at(number);
        if ENDS.set(set.cast()).is_err() {
            self.push(number);
            return None;
        }
        // SAFETY: it is committed, and stays, since the table is never dropped.
        let set = unsafe { &*set };
        set.0.of.store(core::ptr::from_ref(self).cast_mut(), Ordering::Release);
        MINE.set(Some(set));
        Some(set)
    }

    fn give_back(&self, set: usize) {
        self.push((set - self.sets.as_ptr() as usize) / size_of::<SetOfThread>());
    }

    fn next(&self, number: NonZeroU32) -> &AtomicU32 {
        // SAFETY: it is committed.
        unsafe { &(*self.sets.at(number.get() as usize - 1)).0.next }
    }

    fn pop(&self) -> Option<usize> {
        let number = self.free.pop(|number| self.next(number).load(Ordering::Relaxed))?;
        Some(number.get() as usize - 1)
    }

    fn push(&self, number: usize) {
        let number = NonZeroU32::new(number as u32 + 1).expect("there are few sets");
        self.free.push(number, |next| self.next(number).store(next, Ordering::Relaxed));
    }
}
