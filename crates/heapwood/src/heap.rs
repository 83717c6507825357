//! The heap as a value: cheap to clone, alive until its last clone, mutator and root are gone.

#[cfg(doc)]
use crate::{Attached, Mutator};
use core::fmt;
use heapwood_gc::{AllocError, Config, HeapBox, HeapError, MemoryAccount, MisuseError, Stats};
use std::sync::{Arc, OnceLock};

/// A function that [`Heap::on_alloc_error`] takes.
pub type AllocErrorHook = fn(&AllocError);

pub(crate) struct Inner {
    pub(crate) heap: HeapBox,
    pub(crate) hook: OnceLock<AllocErrorHook>,
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
    ///    there may exist while the object is kept alive by other means.)
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
    ///    thread was attached to when that began.
    /// 3. A `Gc` is stored only into objects of its own heap, and passed only to that heap's mutators.
    /// 4. Stacks that the program switches (fibers, coroutines with their own stacks) are not used for code that
    ///    holds a `Gc`, unless they are [registered](Heap::add_stack) and each switch is
    ///    [announced](Mutator::switch_stack).
    /// 5. With stops by signals ([`Config::stop`]) these rules hold between any two instructions, not only where a
    ///    thread allocates or polls.
    ///
    /// The stacks are always scanned: [`Config::conservative_stacks`] has no effect here.
    pub unsafe fn new(config: Config) -> Result<Heap, HeapError> {
        let config = config.conservative_stacks(true);
        let heap = heapwood_gc::Heap::create(&heapwood_os::SYSTEM, config)?;
        Ok(Heap { inner: Arc::new(Inner { heap, hook: OnceLock::new() }) })
    }

    /// Sets a hook that [`Mutator::alloc`] calls before it panics because there is no memory. The hook may end the
    /// program in its own way. It can be set once; later calls have no effect.
    pub fn on_alloc_error(&self, hook: AllocErrorHook) {
        let _ = self.inner.hook.set(hook);
    }

    /// Changes the growth percentage, from the next collection on.
    ///
    /// # Errors
    /// The percentage is not 1 to [`Config::MAX_PERCENT`].
    pub fn set_percent(&self, percent: u32) -> Result<(), HeapError> {
        self.inner.heap.set_percent(percent)
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
    pub fn memory_account(&self) -> Result<MemoryAccount, MisuseError> {
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
