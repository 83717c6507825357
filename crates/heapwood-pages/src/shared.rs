//! A page allocator for many threads: the allocator behind one lock, and the scavenge index, which is read without the
//! lock. A mutator calls it when its page cache cannot serve a request. Lock acquisitions are counted, so that the
//! cost of sharing can be reported. Invariant: every change of the allocator happens under the lock, and freed pages
//! are noted in the index before the lock is released.

use crate::allocator::{PageAllocator, PageRun, parts};
use crate::cache::PageCache;
use crate::error::{AllocateError, FreeError, GrowError, NewError};
use crate::geometry::{Geometry, TreeShape};
use crate::index::ScavengeIndex;
use crate::lock_order::PAGES;
use crate::long_cache::LongCache;
use crate::scavenge::{PendingRelease, ScavengePolicy};
use crate::units::{ChunkIndex, PageCount, PageIndex};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::threads::timed_lock::TimedGuard;
use heapwood_os::{ForkLock, KernelRef, Mapped, OsError, TimedLock, for_each_mapping_of};

/// A page allocator for many threads.
pub struct SharedPages<G: Geometry> {
    locked: TimedLock<LockedPages<G>, PAGES>,
    index: ScavengeIndex<G>,
    counters: Counters,
}

/// Counters as of the last release of the lock, for readers without the lock.
struct Counters {
    in_use: AtomicUsize,
    resident: AtomicUsize,
}

impl Counters {
    fn new<G: Geometry>(pages: &PageAllocator<G>) -> Self {
        let counters = Counters { in_use: AtomicUsize::new(0), resident: AtomicUsize::new(0) };
        counters.update(pages, 0);
        counters
    }

    #[inline]
    fn update<G: Geometry>(&self, pages: &PageAllocator<G>, releasing: usize) {
        let grown = pages.grown_pages().0;
        self.in_use.store(grown - pages.free_pages().0 - releasing, Ordering::Relaxed);
        self.resident.store(grown - pages.scavenged_pages().0, Ordering::Relaxed);
    }
}

struct LockedPages<G: Geometry> {
    pages: PageAllocator<G>,
    /// Pages that are being released, which the allocator counts as in use.
    releasing: usize,
    lock_acquisitions: u64,
}

/// The lock, held; as it is let go, others learn how many pages are in use.
struct PagesGuard<'a, G: Geometry> {
    locked: TimedGuard<'a, LockedPages<G>, PAGES>,
    counters: &'a Counters,
}

impl<G: Geometry> core::ops::Deref for PagesGuard<'_, G> {
    type Target = LockedPages<G>;
    fn deref(&self) -> &LockedPages<G> {
        &self.locked
    }
}

impl<G: Geometry> core::ops::DerefMut for PagesGuard<'_, G> {
    fn deref_mut(&mut self) -> &mut LockedPages<G> {
        &mut self.locked
    }
}

impl<G: Geometry> Drop for PagesGuard<'_, G> {
    fn drop(&mut self) {
        self.counters.update(&self.locked.pages, self.locked.releasing);
    }
}

/// Statistics of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageStats {
    /// Existing pages.
    pub grown: PageCount,
    /// Free pages, without cached ones.
    pub free: PageCount,
    /// Scavenged pages.
    pub scavenged: PageCount,
    /// Pages that are being released: neither free nor in use.
    pub releasing: PageCount,
    /// The number of lock acquisitions.
    pub lock_acquisitions: u64,
}

impl PageStats {
    /// Pages that may be resident, in use or not.
    pub fn backed(self) -> PageCount {
        PageCount(self.grown.0 - self.scavenged.0)
    }

    /// Pages in use, with cached ones.
    pub fn in_use(self) -> PageCount {
        PageCount(self.grown.0 - self.free.0 - self.releasing.0)
    }
}

/// The thoroughness of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// In the background: skips chunks that are dense, or were in this cycle or the one before.
    Gentle,
    /// At once, because memory is needed or the program has asked for it: releases all free pages.
    Full,
}

impl<G: Geometry> SharedPages<G> {
    /// Reserves the tables for a reservation of `reservation` pages. No page exists yet.
    ///
    /// # Errors
    /// As [`PageAllocator::new`].
    pub fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, NewError> {
        Self::over(kernel, PageAllocator::new(kernel, reservation)?).map_err(NewError::Refused)
    }

    /// Shares an existing allocator.
    ///
    /// # Errors
    /// The kernel refuses memory for the index.
    pub fn over(kernel: KernelRef, pages: PageAllocator<G>) -> Result<Self, OsError> {
        let index = ScavengeIndex::new(kernel, pages.reservation())?;
        let chunk_pages = PageCount(TreeShape::<G>::CHUNK_PAGES);
        for chunk in pages.chunks_with_tables() {
            index.grow(chunk.first_page::<G>(), chunk_pages)?;
        }
        for chunk in pages.chunks_with_tables().filter(|&chunk| pages.has_releasable(chunk)) {
            index.note(chunk, || false);
        }
        Ok(SharedPages {
            counters: Counters::new(&pages),
            locked: TimedLock::new(LockedPages { pages, releasing: 0, lock_acquisitions: 0 }),
            index,
        })
    }

    fn lock(&self) -> PagesGuard<'_, G> {
        let mut locked = self.locked.lock();
        locked.lock_acquisitions += 1;
        PagesGuard { locked, counters: &self.counters }
    }

    /// The lock, for a fork.
    pub fn fork_lock(&self) -> &impl ForkLock {
        &self.locked
    }

    /// The longest time that the lock was held, in ticks ([`heapwood_os::threads::timed_lock`]).
    pub fn longest_hold(&self) -> u64 {
        self.locked.longest_hold()
    }

    /// The pages in use, with cached ones, but without those being released. Read without the lock, so it may be
    /// slightly old.
    #[inline]
    pub fn in_use(&self) -> PageCount {
        PageCount(self.counters.in_use.load(Ordering::Relaxed))
    }

    /// The pages that may be resident, in use or not. Read without the lock.
    #[inline]
    pub fn resident(&self) -> PageCount {
        PageCount(self.counters.resident.load(Ordering::Relaxed))
    }

    /// Whether pages are being released: a failed allocation may succeed in a moment.
    pub fn is_releasing(&self) -> bool {
        self.locked.lock().releasing > 0
    }

    /// Allocates a run of pages and caches none: [`PageAllocator::allocate`].
    pub fn allocate_uncached(&self, count: PageCount) -> Result<PageRun, AllocateError> {
        self.lock().pages.allocate(count)
    }

    /// Allocates pages that begin at a multiple of their number: [`PageAllocator::allocate_aligned`].
    ///
    /// # Errors
    /// As there.
    pub fn allocate_aligned(&self, count: PageCount) -> Result<PageRun, AllocateError> {
        self.lock().pages.allocate_aligned(count)
    }

    /// Adds free pages: [`PageAllocator::grow`].
    pub fn grow(&self, first: PageIndex, count: PageCount) -> Result<(), GrowError> {
        let mut locked = self.lock();
        locked.pages.check_grow(first, count)?;
        self.index.grow(first, count).map_err(|cause| GrowError::Refused { page: first, cause })?;
        locked.pages.grow(first, count)
    }

    /// Allocates a run of pages from the cache, without the lock, or else by [`PageAllocator::allocate_into`].
    #[inline]
    pub fn allocate(&self, cache: &mut PageCache, count: PageCount) -> Result<PageRun, AllocateError> {
        match cache.allocate(count) {
            Some(run) => Ok(run),
            None => self.allocate_into(cache, count),
        }
    }

    #[cold]
    fn allocate_into(&self, cache: &mut PageCache, count: PageCount) -> Result<PageRun, AllocateError> {
        let mut locked = self.lock();
        // Resident pages may be returned from the cache; an empty one has no block.
        if !cache.is_empty() {
            self.note(&locked.pages, cache.base(), PageCount(1));
        }
        locked.pages.allocate_into(cache, count)
    }

    /// Returns all pages of a cache, as its mutator leaves.
    pub fn flush(&self, cache: &mut PageCache) {
        if cache.is_empty() {
            return;
        }
        let mut locked = self.lock();
        self.note(&locked.pages, cache.base(), PageCount(1));
        locked.pages.flush(cache);
    }

    /// Allocates a run of pages for a mutator whose caches cannot serve the request, and fills the caches until they
    /// hold `most` pages together, or no page is left. So the lock is taken once for many pages.
    ///
    /// # Errors
    /// As [`allocate_into`](PageAllocator::allocate_into).
    #[cold]
    pub fn allocate_with(
        &self,
        caches: &mut [PageCache],
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        let mut locked = self.lock();
        let Some((first, others)) = caches.split_first_mut() else { return locked.pages.allocate(count) };
        if !first.is_empty() {
            self.note(&locked.pages, first.base(), PageCount(1));
        }
        let run = locked.pages.allocate_into(first, count)?;
        let mut held = first.pages().0 + others.iter().map(|cache| cache.pages().0).sum::<usize>();
        for cache in others.iter_mut().filter(|cache| cache.is_empty()) {
            if held >= most.0 || !locked.pages.fill(cache) {
                break;
            }
            held += cache.pages().0;
        }
        // The last caches hold the excess.
        for cache in caches.iter_mut().rev() {
            if held <= most.0 {
                break;
            }
            let keep = cache.pages().0.saturating_sub(held - most.0);
            held -= cache.pages().0 - keep;
            let mut rest = cache.split_off(PageCount(keep));
            self.note(&locked.pages, rest.base(), PageCount(1));
            locked.pages.flush(&mut rest);
        }
        Ok(run)
    }

    /// Allocates a run of pages for a mutator whose cache of long runs cannot serve the request:
    /// [`PageAllocator::allocate_long`].
    ///
    /// # Errors
    /// As [`allocate_long`](PageAllocator::allocate_long).
    #[cold]
    pub fn allocate_long(
        &self,
        cache: &mut LongCache<G>,
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        let mut locked = self.lock();
        if !cache.is_empty() {
            self.note(&locked.pages, cache.base(), PageCount(1));
        }
        locked.pages.allocate_long(cache, count, most)
    }

    /// Returns the pages of several caches in one lock acquisition.
    pub fn flush_all(&self, caches: &mut [PageCache]) {
        let mut locked = self.lock();
        for cache in caches.iter_mut().filter(|cache| !cache.is_empty()) {
            self.note(&locked.pages, cache.base(), PageCount(1));
            locked.pages.flush(cache);
        }
    }

    /// The same for caches of long runs.
    pub fn flush_all_long(&self, caches: &mut [LongCache<G>]) {
        let mut locked = self.lock();
        for cache in caches.iter_mut().filter(|cache| !cache.is_empty()) {
            self.note(&locked.pages, cache.base(), PageCount(1));
            locked.pages.flush_long(cache);
        }
    }

    /// Frees pages: [`PageAllocator::free`].
    pub fn free(&self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        let mut locked = self.lock();
        self.note(&locked.pages, first, count);
        locked.pages.free(first, count)
    }

    /// Frees many runs in one lock acquisition: [`PageAllocator::free_batch`].
    pub fn free_batch(&self, runs: &[(PageIndex, PageCount)]) -> Result<(), FreeError> {
        let mut locked = self.lock();
        for &(first, count) in runs {
            self.note(&locked.pages, first, count);
        }
        locked.pages.free_batch(runs)
    }

    /// Notes chunks whose pages are to be freed; a superfluous note does no harm.
    #[inline]
    fn note(&self, pages: &PageAllocator<G>, first: PageIndex, count: PageCount) {
        if count.0 == 0 || pages.outside(first, count).is_some() {
            return;
        }
        for (chunk, ..) in parts::<G>(first.0, count.0) {
            self.index.note(ChunkIndex(chunk), || pages.is_dense(ChunkIndex(chunk)));
        }
    }

    /// Begins a new cycle, by which the age of density is counted.
    pub fn new_cycle(&self) {
        self.index.new_cycle();
    }

    /// Releases the memory of one run of free pages, the highest, by a call of `release` without the lock, which
    /// returns whether the kernel has released it. Returns the number of resident pages in the run and that answer;
    /// `None` if there is nothing to release.
    pub fn scavenge(
        &self,
        effort: Effort,
        policy: ScavengePolicy,
        release: impl FnOnce(PageIndex, PageCount) -> bool,
    ) -> Option<(PageCount, bool)> {
        let run = self.begin_release(effort, policy)?;
        let (pages, first, count) = (run.resident(), run.first(), run.count());
        let taken = release(first, count);
        let mut locked = self.lock();
        locked.pages.end_release(run, taken);
        locked.releasing -= count.0;
        if !taken {
            // Not earlier: until now the run counts as in use, and would make the chunk dense.
            self.note(&locked.pages, first, count);
        }
        Some((pages, taken))
    }

    /// The first step of a release: finds candidates without the lock, and checks each under it.
    fn begin_release(&self, effort: Effort, policy: ScavengePolicy) -> Option<PendingRelease> {
        let full = effort == Effort::Full;
        let mut below = ChunkIndex(usize::MAX);
        loop {
            let chunk = self.index.candidate(below, full)?;
            below = chunk;
            let mut locked = self.lock();
            if !full && locked.pages.is_dense(chunk) {
                continue;
            }
            match locked.pages.begin_release(chunk, policy) {
                Some(release) => {
                    locked.releasing += release.count().0;
                    return Some(release);
                }
                None => self.index.clear(chunk),
            }
        }
    }

    /// The statistics now.
    pub fn stats(&self) -> PageStats {
        let locked = self.locked.lock();
        let pages = &locked.pages;
        PageStats {
            grown: pages.grown_pages(),
            free: pages.free_pages(),
            scavenged: pages.scavenged_pages(),
            releasing: PageCount(locked.releasing),
            lock_acquisitions: locked.lock_acquisitions,
        }
    }

    /// Calls `f` with the mappings of the tables.
    pub fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.with(|pages| for_each_mapping_of(&[&pages.chunks, &pages.tree], f));
        self.index.for_each_mapping(f);
    }

    /// Gives access to the allocator under the lock, to read or check it.
    pub fn with<R>(&self, look: impl FnOnce(&PageAllocator<G>) -> R) -> R {
        look(&self.locked.lock().pages)
    }

    /// Checks everything that can be recomputed, and that every chunk with pages to release has a note.
    ///
    /// # Errors
    /// The first inconsistency: [`PageAllocator::is_valid`].
    pub fn is_valid(&self) -> Result<(), crate::ValidationError> {
        let locked = self.locked.lock();
        locked.pages.is_valid()?;
        let forgotten = locked
            .pages
            .chunks_with_tables()
            .find(|&chunk| locked.pages.has_releasable(chunk) && !self.index.is_noted(chunk));
        match forgotten {
            Some(chunk) => Err(crate::ValidationError::NotNoted { page: chunk.first_page::<G>() }),
            None => Ok(()),
        }
    }
}
