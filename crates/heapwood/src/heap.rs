//! The heap as a value: cheap to clone, alive until its last clone, mutator and root are gone.

#[cfg(doc)]
use crate::{Attached, Mutator};
use core::fmt;
use heapwood_gc::{AllocError, Config, HeapBox, HeapError, Stats};
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
    /// This is the one place where the library asks for `unsafe`: what it cannot check is where a program keeps its
    /// [`Gc`](crate::Gc)s.
    ///
    /// # Errors
    /// A setting that is out of range, or no memory for the heap's tables.
    ///
    /// # Safety
    ///
    /// As long as any [`Gc`](crate::Gc) of this heap is used:
    ///
    /// 1. Each is kept where the collector looks: in a local variable or argument on the stack of a thread that is
    ///    attached to the heap, in an object of the heap, or as a [`Root`](crate::Root). In particular not in a
    ///    `Box`, `Vec` or other memory of the ordinary allocator or of C, not in a `static` or a thread-local (that of some
    ///    threads may happen to lie next to their stack, and be seen there), not
    ///    on the stack of a thread that is not attached, and not disguised (compressed, tagged, xored, written out).
    ///    (A `Gc` there may exist while the object is kept alive by other means.)
    ///
    ///    **A reference into an object counts as a `Gc`**: `&*object`, a `&[T]` of a slice, an iterator over it, whatever
    ///    borrows from them. The variable it was borrowed from does not help: the compiler forgets a variable after its
    ///    last use, however long the borrow is. So this is wrong, where `script` allocates:
    ///
    ///    ```text
    ///    let mut sorted: Vec<&Name> = names.iter().map(|name| &**name).collect();
    ///    sorted.sort();
    ///    for name in sorted { script(m, name) }     // names itself is needed no more
    ///    ```
    ///
    ///    With `let names = m.keep(names);` before it, it is right: see [`Mutator::keep`].
    ///
    ///    What the standard library does with values counts, too: `[Gc<T>]::sort_by` moves elements through a buffer of the
    ///    ordinary allocator while it calls the comparison, and collections of `Gc`s are such buffers. A closure that
    ///    allocates or polls is passed to them only while the objects are kept alive otherwise: sort a copy, and
    ///    [keep](Mutator::keep) the slice it was copied from.
    /// 2. None is used after its thread has dropped its [`Attached`], nor inside [`Mutator::blocking`] of any heap that the
    ///    thread was attached to when that began.
    /// 3. A `Gc` is stored only into objects of its own heap, and passed only to that heap's mutators.
    /// 4. Stacks that are switched by hand (fibers, coroutines with stacks of their own) are not used for code that
    ///    holds a `Gc`, unless they are [registered](Heap::add_stack) and each switch is
    ///    [announced](Mutator::switch_stack).
    /// 5. With stops by signals ([`Config::stop`]) all this holds between any two instructions, not only where a thread allocates or
    ///    polls.
    ///
    /// The stacks are always scanned: [`Config::conservative_stacks`] has no effect here.
    pub unsafe fn new(config: Config) -> Result<Heap, HeapError> {
        let config = config.conservative_stacks(true);
        let heap = heapwood_gc::Heap::create(&heapwood_os::SYSTEM, config)?;
        Ok(Heap { inner: Arc::new(Inner { heap, hook: OnceLock::new() }) })
    }

    /// What [`Mutator::alloc`] calls before it panics because no memory could be had: a program that would rather
    /// end in its own way ends there. Can be set once; later calls have no effect.
    pub fn on_alloc_error(&self, hook: AllocErrorHook) {
        let _ = self.inner.hook.set(hook);
    }

    /// Changes the growth percentage, from the next collection on.
    ///
    /// # Errors
    /// A percentage that is 0 or absurdly large.
    pub fn set_percent(&self, percent: u32) -> Result<(), HeapError> {
        self.inner.heap.set_percent(percent)
    }

    /// Gives the memory of all free pages back to the system now, and returns how many bytes that may have been. Only
    /// what a collection has found dead is free, so [`Mutator::collect`] comes first. Other threads go on meanwhile.
    pub fn release_free_memory(&self) -> usize {
        self.inner.heap.memory().release_free()
    }

    /// The figures at this moment.
    pub fn stats(&self) -> Stats {
        self.inner.heap.inspect().stats()
    }
}

/// For those who study heaps.
impl Heap {
    /// The pages as they are now: which exist, which are in use, which have no memory behind them. Those that threads
    /// have cached count as in use.
    pub fn page_snapshot(&self) -> crate::PageSnapshot {
        self.inner.heap.inspect().page_snapshot()
    }

    /// Keeps the snapshots of [`Heap::peak_page_snapshot`] and [`Heap::collected_page_snapshot`] from now on.
    pub fn keep_page_snapshots(&self) {
        self.inner.heap.inspect().keep_page_snapshots();
    }

    /// The pages when most were in use, of the moments when collections began and this one; `None` if none
    /// [are kept](Self::keep_page_snapshots).
    pub fn peak_page_snapshot(&self) -> Option<crate::PageSnapshot> {
        self.inner.heap.inspect().peak_page_snapshot()
    }

    /// The pages that the collection left that freed most, as if all that it found dead had been swept at once; `None`
    /// if none [are kept](Self::keep_page_snapshots) or there was no collection.
    pub fn collected_page_snapshot(&self) -> Option<crate::PageSnapshot> {
        self.inner.heap.inspect().collected_page_snapshot()
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
