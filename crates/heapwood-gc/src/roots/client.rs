//! A client's part in each collection: a table of roots of its own, under a lock of its own, or callbacks that it promised to
//! somebody else. A trait object in place of five functions, as in Whippet's embedder interface; the moments are libgc's
//! (start_callback, push_other_roots, on_collection_event).
//!
//! Invariant: all calls for one collection come from one thread, which is the program's: an attached one, or one that has asked for
//! a collection. No other collection of the heap runs between the first and the last.

use super::scan_roots::ScanRoots;
use core::ops::Range;
use heapwood_layout::WORD;

/// A client's part in each collection of a heap. In each collection the calls are: `before`, then `lock`, then, while the threads are
/// stopped, `roots`, and when they go on, `unlock` and `after`. If the threads have to go on and stop once more, since one of
/// them was opening a library, `unlock` and `lock` come in between.
///
/// # Safety
/// 1. In all five calls the thread counts as stopped in all its heaps. So a call does not allocate, collect, store into objects,
///    unwind or fork. It may look objects up, and wait for what threads do that need no collection to go on.
/// 2. `roots` runs while threads are stopped, perhaps inside the ordinary allocator: it takes no lock that a thread may hold that is
///    not in a no-preempt region, but those that `lock` has taken, and calls no ordinary allocator.
/// 3. Who holds what `lock` takes does not allocate in the heap, nor collects it, nor opens a library; where threads are stopped by
///    polls, who waits for it does so in a blocking region.
pub unsafe trait CollectionPhases: Sync {
    /// A collection begins. The threads run.
    fn before(&self) {}

    /// The threads are about to be stopped: takes the client's lock, if it has one.
    fn lock(&self) {}

    /// The threads are stopped: names what the client knows of. It may be called several times in a stop, with all roots each time, and
    /// is not called where nothing is marked.
    fn roots(&self, roots: &mut ClientRoots<'_>);

    /// The threads go on: frees the client's lock.
    fn unlock(&self) {}

    /// The collection has ended. The threads run.
    fn after(&self) {}
}

/// Receives a client's roots in a stop.
pub struct ClientRoots<'m> {
    marker: &'m mut dyn ScanRoots,
    bytes: usize,
}

impl<'m> ClientRoots<'m> {
    pub(crate) fn new(marker: &'m mut dyn ScanRoots) -> Self {
        ClientRoots { marker, bytes: 0 }
    }

    /// Any word of these addresses may point to or into an object. A heap remembers no stores into them, so a range that is only to be
    /// looked at if it has changed is named in each stop, too.
    ///
    /// # Safety
    /// 1. They stay readable until `unlock` is called.
    pub unsafe fn words(&mut self, words: Range<usize>) {
        self.bytes += words.len();
        self.marker.words(words);
    }

    /// The same of words of a stack, which may lead to the inside of objects whatever the heap's rule for other words is.
    ///
    /// # Safety
    /// 1. As for [`ClientRoots::words`].
    pub unsafe fn stack(&mut self, words: Range<usize>) {
        self.bytes += words.len();
        self.marker.stack(words);
    }

    /// The object that a word points to or into is alive, if there is one, and so is all that it leads to. Who sets the mark bit of
    /// an object calls this.
    pub fn word(&mut self, word: usize) {
        let at = (&raw const word) as usize;
        self.bytes += WORD;
        // So few words are scanned at once.
        self.marker.stack(at..at + WORD);
    }

    /// The bytes that were named.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
