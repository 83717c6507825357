//! The heap as a value: cheap to clone, alive until its last clone, mutator and root are gone.

#[cfg(doc)]
use crate::{Attached, Mutator};
use core::ffi::c_void;
use core::fmt;
use heapwood_gc::{
    AllocError, CollectionHook, CollectionKind, CollectionMoment, Config, FinalizerQueue, HeapBox, HeapError,
    MemoryAccount, Misuse, Stats,
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A function that [`Heap::on_alloc_error`] takes.
pub type AllocErrorHook = fn(&AllocError);

/// A function that [`Heap::on_collection`] takes.
type Hook = dyn Fn(CollectionMoment, CollectionKind) + Send + Sync;

pub(crate) struct Inner {
    pub(crate) heap: HeapBox,
    pub(crate) hook: OnceLock<AllocErrorHook>,
    /// Queues whose handles went before their entries.
    left_queues: Mutex<Vec<FinalizerQueue>>,
}

impl Inner {
    /// Sets the hook, and drops the one that was set before.
    fn set_hook(&self, hook: Option<Box<Hook>>) -> Result<(), Misuse> {
        let argument = hook.map(|hook| Box::into_raw(Box::new(hook)).cast::<c_void>());
        let new = argument.map(|argument| CollectionHook { function: call_hook, argument });
        // SAFETY: the box stays until it is replaced, and any thread may call it. A panic in it ends the process, and what it may do
        // beside that is harmless: it has no mutator.
        let set = unsafe { self.heap.on_collection(new) };
        let unused = match set {
            Ok(before) => before.map(|before| before.argument),
            Err(_) => argument,
        };
        if let Some(unused) = unused {
            // SAFETY: the box was made here, and nobody calls it any more: it was replaced, or never set.
            drop(unsafe { Box::from_raw(unused.cast::<Box<Hook>>()) });
        }
        set.map(|_| ())
    }
}

impl Inner {
    /// A queue is left to the heap: what is registered for it is dropped with what is on its own.
    pub(crate) fn leave_queue(&self, queue: FinalizerQueue) {
        self.left_queues.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
    }

    /// Drops the value that has waited longest on the heap's own queue, or on one that was left to it. Those end when they are empty.
    fn drop_next_of_own(&self) -> Option<()> {
        self.drop_next(FinalizerQueue::default()).or_else(|| {
            let mut left =
                core::mem::take(&mut *self.left_queues.lock().unwrap_or_else(PoisonError::into_inner));
            let dropped = left.iter().find_map(|&queue| self.drop_next(queue));
            left.retain(|&queue| self.heap.end_finalizer_queue(queue).is_err());
            self.left_queues.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
            dropped
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A thread that drops the last heap inside a hook leaves the hook behind.
        let _ = self.set_hook(None);
        let _ = self.heap.finalize_all();
        while self.drop_next_of_own().is_some() {}
    }
}

/// Calls the hook that was boxed by [`Inner::set_hook`].
unsafe extern "C" fn call_hook(hook: *mut c_void, moment: CollectionMoment, kind: CollectionKind) {
    // SAFETY: the argument is that box.
    let hook = unsafe { &*hook.cast::<Box<Hook>>() };
    hook(moment, kind);
}

/// A garbage-collected heap. Clones are the same heap.
#[derive(Clone)]
pub struct Heap {
    pub(crate) inner: Arc<Inner>,
}

impl Heap {
    /// Makes a heap.
    ///
    /// This is unsafe because the library cannot check where a program keeps its [`Gc`](crate::Gc)s.
    ///
    /// # Errors
    /// A setting that is out of range, or no memory for the heap's tables.
    ///
    /// # Safety
    ///
    /// As long as any [`Gc`](crate::Gc) of this heap is used:
    ///
    /// 1. Each is kept where the collector looks: in a local variable or argument on the stack of a thread that is
    ///    attached to the heap, in an object of the heap, or as a [`Root`](crate::Root). In particular not in a `Box`,
    ///    `Vec` or other memory of the ordinary allocator or of C, not in a `static` or a thread-local, not on the
    ///    stack of a thread that is not attached, and not disguised (compressed, tagged, xored, written out). (A `Gc`
    ///    there may exist while the object is kept alive by other means.) Nor off its alignment: the compiler refuses a `Gc` in a packed
    ///    struct, but for one documented hole, generic packed structs and enums in packed structs, such as
    ///    `#[repr(packed)] struct P<T>(u8, T)` with a `Gc` for `T`, or an `Option<Gc<T>>` in one.
    ///
    ///    **A reference into an object counts as a `Gc`**: `&*object`, a `&[T]` of a slice, an iterator over it, and
    ///    every borrow from these. The variable it was borrowed from does not keep the object alive: the compiler drops
    ///    a variable from the stack after its last use, even if the borrow lasts longer. This is wrong if `script`
    ///    allocates:
    ///
    ///    ```text
    ///    let mut sorted: Vec<&Name> = names.iter().map(|name| &**name).collect();
    ///    sorted.sort();
    ///    for name in sorted { script(m, name) }     // the last use of `names` was above
    ///    ```
    ///
    ///    With `let names = m.keep(names);` before it, it is correct: see [`Mutator::keep`].
    ///
    ///    The standard library must follow this, too. `[Gc<T>]::sort_by` moves elements through a buffer of the
    ///    ordinary allocator while it calls the comparison, and a `Vec<Gc<T>>` is such a buffer. Pass a closure that
    ///    allocates or polls only while something else keeps the objects alive: sort a copy, and [keep](Mutator::keep)
    ///    the original slice.
    /// 2. None is used after its thread has dropped its [`Attached`], nor inside [`Mutator::blocking`] of any heap that the
    ///    thread was attached to when that began. (The compiler refuses a `Gc` there, but not a reference into an object without cells.)
    /// 3. A `Gc` is stored only into objects of its own heap, and passed only to that heap's mutators.
    /// 4. Stacks that the program switches (fibers, coroutines with their own stacks) are not used for code that
    ///    holds a `Gc`, unless they are [registered](Heap::add_stack) and each switch is
    ///    [announced](Mutator::switch_stack).
    /// 5. With stops by signals ([`Config::stop`]) these rules hold between any two instructions, not only where a
    ///    thread allocates or polls.
    ///
    /// The stacks are always scanned: [`Config::conservative_stacks`] has no effect here.
    ///
    /// # What is checked
    ///
    /// With [`Config::verify`], in a build of this crate with debug assertions, a panic names a `Gc` that is followed after its object was
    /// freed (1, 2), with the object's type and where it was made, and one that is stored into another heap's object, or made its root (3). What is **not** found
    /// is a reference into an object that was freed, unless a `Gc` is read through it or it leads to what fills freed memory; and 4. A
    /// [session](crate::session) needs no promise.
    pub unsafe fn new(config: Config) -> Result<Heap, HeapError> {
        Heap::create(config.conservative_stacks(true))
    }

    /// A heap of this configuration; whoever makes one that does not scan stacks sees to its roots.
    pub(crate) fn create(config: Config) -> Result<Heap, HeapError> {
        let heap = heapwood_gc::Heap::create(&heapwood_os::SYSTEM, config)?;
        Ok(Heap { inner: Arc::new(Inner { heap, hook: OnceLock::new(), left_queues: Mutex::default() }) })
    }

    /// Sets a hook that [`Mutator::alloc`] calls before it panics because there is no memory. The hook may end the
    /// program in its own way. It can be set once; later calls have no effect.
    pub fn on_alloc_error(&self, hook: AllocErrorHook) {
        let _ = self.inner.hook.set(hook);
    }

    /// Drops the values of dead objects ([`Mutator::alloc_finalized`], [`Mutator::finalize`]), here and now; returns how many. Call it where a drop
    /// may run: in a loop of events, after a request, on a thread of its own, attached or not. It costs a load if there is none.
    /// Those that are left are dropped with the heap, by the thread that drops its last clone.
    pub fn drop_finalized(&self) -> usize {
        core::iter::from_fn(|| self.inner.drop_next_of_own()).count()
    }

    /// Calls `hook` twice in each pause of this heap, in place of the hook that was set before: with [`CollectionMoment::Start`]
    /// before anything is marked, and with [`CollectionMoment::End`] before the threads go on.
    ///
    /// All threads are stopped meanwhile, so it should be brief, and wait for nobody. It is called on the thread that collects,
    /// which is attached, never on one of the heap's own: while a hook is set, a marking beside the program starts and ends only when
    /// a thread allocates or waits for it, and an idle heap is not collected. Inside it the heap is refused, but for
    /// [`Heap::stats`] and [`Heap::full_collections`]. A panic in it ends the process. A hook that holds a clone of its heap keeps
    /// the heap alive until [`Heap::forget_on_collection`].
    ///
    /// ```
    /// # use heapwood::{Config, Heap};
    /// # use std::sync::atomic::{AtomicU32, Ordering};
    /// # // SAFETY: this program keeps no `Gc`.
    /// # let heap = unsafe { Heap::new(Config::default()) }?;
    /// # let m = heap.attach()?;
    /// static FULL: AtomicU32 = AtomicU32::new(0);
    /// heap.on_collection(|moment, kind| {
    ///     if moment == heapwood::CollectionMoment::End && kind.is_full() {
    ///         FULL.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// })?;
    /// m.collect();
    /// assert_eq!(FULL.load(Ordering::Relaxed), 1);
    /// heap.forget_on_collection()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Inside [`Mutator::blocking`], or inside the hook. The one that was set before stays.
    pub fn on_collection(
        &self,
        hook: impl Fn(CollectionMoment, CollectionKind) + Send + Sync + 'static,
    ) -> Result<(), Misuse> {
        self.inner.set_hook(Some(Box::new(hook)))
    }

    /// Removes that hook, if there is one. It is not called any more when this returns.
    ///
    /// # Errors
    /// As [`Heap::on_collection`].
    pub fn forget_on_collection(&self) -> Result<(), Misuse> {
        self.inner.set_hook(None)
    }

    /// How many full collections have ended: an epoch for caches, by one load.
    pub fn full_collections(&self) -> u64 {
        self.inner.heap.full_collections()
    }

    /// Changes the growth percentage, from the next collection on.
    ///
    /// # Errors
    /// The percentage is not 1 to [`Config::MAX_PERCENT`].
    pub fn set_percent(&self, percent: u32) -> Result<(), HeapError> {
        self.inner.heap.set_percent(percent)
    }

    /// Changes the limit on the heap's bytes; `None`: only its reservation bounds it. Memory is refused from now on if what is in
    /// use exceeds it. The reservation does not grow: a heap that was made with a limit has addresses for twice that.
    ///
    /// # Errors
    /// It is less than [`Config::MIN_LIMIT`].
    pub fn set_limit(&self, limit: Option<usize>) -> Result<(), HeapError> {
        self.inner.heap.set_limit(limit)
    }

    /// Changes how many threads mark, from the next full collection on; `None`: as many as profit.
    ///
    /// # Errors
    /// The number is not 1 to [`Config::MOST_MARK_THREADS`].
    pub fn set_mark_threads(&self, threads: Option<usize>) -> Result<(), HeapError> {
        self.inner.heap.set_mark_threads(threads)
    }

    /// Switches collections off until [`Heap::enable_collections`] was called as often; returns how often they are off. Waits for
    /// one that is under way. Allocation goes on up to the limit, and fails there.
    ///
    /// # Errors
    /// The thread is attached, and on a stack that is not registered. Collections are off nevertheless.
    pub fn disable_collections(&self) -> Result<u32, Misuse> {
        self.inner.heap.disable_collections()
    }

    /// Takes that back once; returns how often they are still off.
    ///
    /// # Errors
    /// They are on.
    pub fn enable_collections(&self) -> Result<u32, Misuse> {
        self.inner.heap.enable_collections()
    }

    /// Returns the memory of all free pages to the system now. The result is an upper bound of the bytes returned. Only
    /// a collection makes pages free, so call [`Mutator::collect`] first. Other threads keep running.
    pub fn release_free_memory(&self) -> usize {
        self.inner.heap.memory().release_free()
    }

    /// Where the heap's memory is, by parts and by size class: what to look at if a process is much larger than what is
    /// alive. It stops the other threads, for less than two milliseconds a hundred megabytes.
    ///
    /// ```
    /// # use heapwood::{Config, Heap};
    /// // SAFETY: this program keeps no `Gc`.
    /// let heap = unsafe { Heap::new(Config::default()) }?;
    /// let account = heap.memory_account()?;
    /// assert_eq!(account.parts.backed, account.parts.backed_parts());
    /// for class in account.classes() {
    ///     println!("{} bytes: {} spans, {} free", class.cell, class.spans, class.partial);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The thread is attached to the heap, and inside a blocking region.
    pub fn memory_account(&self) -> Result<MemoryAccount, Misuse> {
        self.inner.heap.memory_account()
    }

    /// The statistics now.
    pub fn stats(&self) -> Stats {
        self.inner.heap.inspect().stats()
    }
}

/// Page snapshots, for experiments.
impl Heap {
    /// The pages now: which exist, which are in use, which have no memory. Pages in threads' caches count as in use.
    pub fn page_snapshot(&self) -> crate::PageSnapshot {
        self.inner.heap.inspect().page_snapshot()
    }

    /// Keeps the snapshots of [`Heap::peak_page_snapshot`] and [`Heap::collected_page_snapshot`] from now on.
    pub fn keep_page_snapshots(&self) {
        self.inner.heap.inspect().keep_page_snapshots();
    }

    /// The pages at the moment of highest use, among the starts of all collections and now. `None` if snapshots [are
    /// not kept](Self::keep_page_snapshots).
    pub fn peak_page_snapshot(&self) -> Option<crate::PageSnapshot> {
        self.inner.heap.inspect().peak_page_snapshot()
    }

    /// The pages after the collection that freed most, as if all its garbage had been swept at once. `None` if
    /// snapshots [are not kept](Self::keep_page_snapshots) or no collection ran.
    pub fn collected_page_snapshot(&self) -> Option<crate::PageSnapshot> {
        self.inner.heap.inspect().collected_page_snapshot()
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
