//! Snapshots of a heap's pages, for studies: one when most pages were in use, one after the collection that freed most.
//! The first is taken when a collection begins, because a heap is largest then; the second when it ends, and it counts
//! as free the pages that a sweep would free. Invariant: until the first request nothing is kept and nothing costs
//! time; a request does not change the program's run. While the world is stopped a snapshot is bits in mapped memory,
//! because a stopped thread may hold the ordinary allocator's lock.

use crate::lock_order::SNAPSHOTS;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_heap::{Space, Stopped};
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, MappedArray, OsError, for_each_mapping_of};
use heapwood_pages::{ChunkIndex, ChunkSnapshot, PAGE_SIZE, PageCount, PageIndex, Snapshot};

/// Pages for each word.
const WORD_PAGES: usize = 64;

/// The snapshots of a heap.
pub(crate) struct PageSnapshots {
    on: AtomicBool,
    kept: Lock<Option<KeptSnapshots>, SNAPSHOTS>,
}

struct KeptSnapshots {
    /// The snapshot with most pages in use, and their number; 0 without a snapshot.
    peak: (usize, PageBits),
    /// The snapshot after the collection that left most releasable pages, and their number.
    collected: (usize, PageBits),
    /// Memory for the next snapshot.
    next: PageBits,
}

impl PageSnapshots {
    pub(crate) fn new() -> Self {
        PageSnapshots { on: AtomicBool::new(false), kept: Lock::new(None) }
    }

    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.kept
    }

    /// Keeps snapshots from now on; none if the kernel gives no addresses for them.
    pub(crate) fn keep(&self, kernel: KernelRef, space: &Space) {
        let make = || PageBits::new(kernel, space.reservation_bytes());
        let make =
            || Ok::<_, OsError>(KeptSnapshots { peak: (0, make()?), collected: (0, make()?), next: make()? });
        let mut kept = self.kept.lock();
        if kept.is_none() {
            *kept = make().ok();
        }
        self.on.store(kept.is_some(), Ordering::Relaxed);
    }

    fn update(&self, f: impl FnOnce(&mut KeptSnapshots)) {
        if self.on.load(Ordering::Relaxed)
            && let Some(kept) = self.kept.lock().as_mut()
        {
            f(kept);
        }
    }

    /// Called when a collection begins, or on request.
    pub(crate) fn before_marking(&self, space: &Space) {
        self.update(|KeptSnapshots { peak, next, .. }| {
            let in_use = space.memory().in_use().0;
            if in_use > peak.0 && next.take(space) {
                peak.0 = in_use;
                core::mem::swap(&mut peak.1, next);
            }
        });
    }

    /// Called when a collection ends; nothing has been swept yet.
    pub(crate) fn after_marking(&self, space: &Space, world: &Stopped<'_>) {
        self.update(|KeptSnapshots { collected, next, .. }| {
            let complete = next.take(space);
            world.for_each_dead_span(|first, count| next.free(first, count));
            let free = next.releasable_pages();
            if complete && free > collected.0 {
                collected.0 = free;
                core::mem::swap(&mut collected.1, next);
            }
        });
    }

    /// The snapshot with most pages in use.
    pub(crate) fn peak(&self, reservation: PageCount) -> Option<Snapshot> {
        self.read(reservation, |kept| &kept.peak)
    }

    /// The snapshot after the collection that freed most.
    pub(crate) fn collected(&self, reservation: PageCount) -> Option<Snapshot> {
        self.read(reservation, |kept| &kept.collected)
    }

    fn read(
        &self,
        reservation: PageCount,
        which: fn(&KeptSnapshots) -> &(usize, PageBits),
    ) -> Option<Snapshot> {
        // Allocates memory without the lock, which a collection may want.
        let mut words = Vec::new();
        loop {
            let kept = self.kept.lock();
            let (pages, bits) = which(kept.as_ref()?);
            if *pages == 0 {
                return None;
            }
            if bits.used <= words.capacity() {
                words.extend_from_slice(bits.words());
                let chunk_words = bits.chunk_words;
                drop(kept);
                return Some(snapshot(reservation, &words, chunk_words));
            }
            let needed = bits.used;
            drop(kept);
            words.reserve(needed);
        }
    }
}

/// The snapshot with these words.
fn snapshot(reservation: PageCount, words: &[[u64; 2]], chunk_words: usize) -> Snapshot {
    let chunks = words.chunks(chunk_words).enumerate();
    let exists = |words: &[[u64; 2]]| words.iter().any(|[in_use, scavenged]| in_use & scavenged != u64::MAX);
    let chunk = |(chunk, words): (usize, &[[u64; 2]])| ChunkSnapshot {
        chunk: ChunkIndex(chunk),
        in_use: words.iter().map(|word| word[0]).collect(),
        scavenged: words.iter().map(|word| word[1]).collect(),
    };
    Snapshot { reservation, chunks: chunks.filter(|(_, words)| exists(words)).map(chunk).collect() }
}

/// The pages at one moment. Each word has two bits for each page: in use, and free but scavenged; both say that the
/// page does not exist.
struct PageBits {
    memory: MappedArray<[u64; 2]>,
    /// Words that have memory.
    committed: usize,
    /// Words of this snapshot.
    used: usize,
    /// Words of a chunk.
    chunk_words: usize,
}

impl PageBits {
    /// Bits of no pages, for a reservation of N bytes.
    fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let memory = MappedArray::new(kernel, reservation / PAGE_SIZE / WORD_PAGES)?;
        Ok(PageBits { memory, committed: 0, used: 0, chunk_words: 1 })
    }

    fn words(&self) -> &[[u64; 2]] {
        // SAFETY: this many are committed, and they are plain numbers.
        unsafe { core::slice::from_raw_parts(self.memory.as_ptr(), self.used) }
    }

    fn words_mut(&mut self) -> &mut [[u64; 2]] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.memory.as_ptr(), self.used) }
    }

    /// Takes the pages as they are now; false if the kernel gives no memory for all.
    fn take(&mut self, space: &Space) -> bool {
        self.used = 0;
        let mut complete = self.commit(space.committed_end() / PAGE_SIZE / WORD_PAGES);
        space.memory().for_each_chunk(|chunk, in_use, scavenged| {
            let (from, start) = (self.used, chunk.0 * in_use.len());
            complete = complete && self.commit(start + in_use.len());
            if complete {
                (self.used, self.chunk_words) = (start + in_use.len(), in_use.len());
                self.words_mut()[from..start].fill([u64::MAX; 2]);
                let words = in_use.iter().zip(scavenged).map(|(&in_use, &scavenged)| [in_use, scavenged]);
                self.words_mut()[start..].iter_mut().zip(words).for_each(|(to, word)| *to = word);
            }
        });
        complete
    }

    /// Makes room for N words.
    fn commit(&mut self, words: usize) -> bool {
        let done = words <= self.committed || self.memory.commit(self.committed..words).is_ok();
        if done {
            self.committed = self.committed.max(words);
        }
        done
    }

    /// Marks pages as free and perhaps resident.
    fn free(&mut self, first: PageIndex, count: PageCount) {
        for page in first.0..first.0 + count.0 {
            if let Some([in_use, _]) = self.words_mut().get_mut(page / WORD_PAGES) {
                *in_use &= !(1 << (page % WORD_PAGES));
            }
        }
    }

    /// The number of free pages that may be resident.
    fn releasable_pages(&self) -> usize {
        self.words().iter().map(|[in_use, scavenged]| (!(in_use | scavenged)).count_ones() as usize).sum()
    }
}

impl Mapped for PageSnapshots {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        if let Some(KeptSnapshots { peak, collected, next }) = &*self.kept.lock() {
            for_each_mapping_of(&[&peak.1.memory, &collected.1.memory, &next.memory], f);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_heap::SpaceConfig;
    use heapwood_os::SYSTEM;

    #[test]
    fn bits_hold_what_a_snapshot_does_and_have_pages_freed_as_it_has() {
        let reservation = 1 << 30;
        let config = SpaceConfig {
            reservation,
            most: None,
            limit: None,
            huge_pages: false,
            clobber: false,
            keep_freed: false,
            protect_arenas: None,
            single_cells: false,
        };
        let space = Space::new(&SYSTEM, config).unwrap();
        let mut bits = PageBits::new(&SYSTEM, reservation).unwrap();
        let now =
            |bits: &PageBits| snapshot(PageCount(reservation / PAGE_SIZE), bits.words(), bits.chunk_words);
        for bytes in [16 << 10, 9 << 20, 40 << 20, 100 << 10] {
            let shape = heapwood_heap::ShapeId::no_pointers(None);
            space.take_large(shape, bytes, false).unwrap().finish();
            assert!(bits.take(&space));
            let mut wanted = space.memory().snapshot();
            assert_eq!(now(&bits), wanted);
            for (first, count) in [(1, 1), (2, 63), (500, 100)] {
                bits.free(PageIndex(first), PageCount(count));
                wanted.chunks.iter_mut().for_each(|chunk| {
                    let base = chunk.chunk.0 * WORD_PAGES * chunk.in_use.len();
                    for page in first.max(base)..(first + count).min(base + WORD_PAGES * chunk.in_use.len()) {
                        chunk.in_use[(page - base) / WORD_PAGES] &= !(1 << (page % WORD_PAGES));
                    }
                });
                assert_eq!(
                    (now(&bits), bits.releasable_pages()),
                    (wanted.clone(), wanted.releasable_pages().0)
                );
            }
        }
    }
}
