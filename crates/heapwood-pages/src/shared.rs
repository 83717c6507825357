//! A page allocator for many threads: the allocator behind one lock, and the scavenge index, which is read without the
//! lock. A mutator calls it when its page cache cannot serve a request. Lock acquisitions are counted, so that the
//! cost of sharing can be reported. Invariant: every change of the allocator happens under the lock, and freed pages
//! are noted in the index before the lock is released.

use crate::allocator::{PageAllocator, PageRun, parts};
use crate::cache::PageCache;
use crate::error::{AllocateError, FreeError, ValidationError};
use crate::geometry::{Geometry, TreeShape};
use crate::index::ScavengeIndex;
use crate::lock_order::PAGES;
use crate::long_cache::LongCache;
use crate::scavenge::{PendingRelease, ScavengePolicy};
use crate::units::{ChunkIndex, PageCount, PageIndex};
use core::ops::Range;
use core::slice;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, OsError, for_each_mapping_of};

/// A page allocator for many threads.
pub struct SharedPages<G: Geometry> {
    locked: Lock<LockedPages<G>, PAGES>,
    index: ScavengeIndex<G>,
    /// Pages in use, and pages that may be resident, as of the last change: for readers without the lock.
    in_use: AtomicUsize,
    resident: AtomicUsize,
}

struct LockedPages<G: Geometry> {
    pages: PageAllocator<G>,
    /// Pages that are being released, which the allocator counts as in use.
    releasing: usize,
    lock_acquisitions: u64,
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
    pub fn new(kernel: KernelRef, reservation: PageCount) -> Result<Self, OsError> {
        Self::over(kernel, PageAllocator::new(kernel, reservation)?)
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
        let locked = LockedPages { pages, releasing: 0, lock_acquisitions: 0 };
        let (in_use, resident) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = SharedPages { locked: Lock::new(locked), index, in_use, resident };
        shared.count(&shared.locked.lock());
        Ok(shared)
    }

    /// Changes the pages under the lock; as it is let go, others learn how many are in use.
    #[inline]
    fn change<R>(&self, change: impl FnOnce(&mut LockedPages<G>) -> R) -> R {
        let mut locked = self.locked.lock();
        locked.lock_acquisitions += 1;
        let result = change(&mut locked);
        self.count(&locked);
        result
    }

    #[inline]
    fn count(&self, locked: &LockedPages<G>) {
        let LockedPages { pages, releasing, .. } = locked;
        let grown = pages.grown_pages().0;
        self.in_use.store(grown - pages.free_pages().0 - releasing, Ordering::Relaxed);
        self.resident.store(grown - pages.scavenged_pages().0, Ordering::Relaxed);
    }

    /// The lock, for a fork.
    pub fn fork_lock(&self) -> &impl ForkLock {
        &self.locked
    }

    /// The pages in use, with cached ones, but without those being released. Read without the lock, so it may be
    /// slightly old.
    #[inline]
    pub fn in_use(&self) -> PageCount {
        PageCount(self.in_use.load(Ordering::Relaxed))
    }

    /// The pages that may be resident, in use or not. Read without the lock.
    #[inline]
    pub fn resident(&self) -> PageCount {
        PageCount(self.resident.load(Ordering::Relaxed))
    }

    /// Whether pages are being released: a failed allocation may succeed in a moment.
    pub fn is_releasing(&self) -> bool {
        self.locked.lock().releasing > 0
    }

    /// Allocates a run of pages and caches none: [`PageAllocator::allocate`].
    pub fn allocate_uncached(&self, count: PageCount) -> Result<PageRun, AllocateError> {
        self.change(|locked| locked.pages.allocate(count))
    }

    /// Allocates pages that begin at a multiple of their number: [`PageAllocator::allocate_aligned`].
    ///
    /// # Errors
    /// As there.
    pub fn allocate_aligned(&self, count: PageCount) -> Result<PageRun, AllocateError> {
        self.change(|locked| locked.pages.allocate_aligned(count))
    }

    /// Adds free pages: [`PageAllocator::grow`].
    ///
    /// # Errors
    /// As there.
    pub fn grow(&self, first: PageIndex, count: PageCount) -> Result<(), OsError> {
        self.change(|LockedPages { pages, .. }| {
            pages.check_grow(first, count);
            self.index.grow(first, count)?;
            pages.grow(first, count)
        })
    }

    /// Allocates a run of pages from the cache, without the lock, or else by [`PageAllocator::allocate_into`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn allocate(&self, cache: &mut PageCache, count: PageCount) -> Result<PageRun, AllocateError> {
        match cache.allocate(count) {
            Some(run) => Ok(run),
            None => self.allocate_with(slice::from_mut(cache), count, PageCount(PageCache::BLOCK)),
        }
    }

    /// Returns all pages of a cache.
    pub fn flush(&self, cache: &mut PageCache) {
        if !cache.is_empty() {
            self.flush_all(slice::from_mut(cache));
        }
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
        self.change(|LockedPages { pages, .. }| self.fill(pages, caches, count, most))
    }

    fn fill(
        &self,
        pages: &mut PageAllocator<G>,
        caches: &mut [PageCache],
        count: PageCount,
        most: PageCount,
    ) -> Result<PageRun, AllocateError> {
        let Some((first, others)) = caches.split_first_mut() else { return pages.allocate(count) };
        self.note_cached(pages, first.base(), first.pages());
        let run = pages.allocate_into(first, count)?;
        let mut held = first.pages().0 + others.iter().map(|cache| cache.pages().0).sum::<usize>();
        for cache in others.iter_mut().filter(|cache| cache.is_empty()) {
            if held >= most.0 || !pages.fill(cache) {
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
            self.note_cached(pages, rest.base(), rest.pages());
            pages.flush(&mut rest);
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
        self.change(|LockedPages { pages, .. }| {
            self.note_cached(pages, cache.base(), cache.pages());
            pages.allocate_long(cache, count, most)
        })
    }

    /// Returns the pages of several caches in one lock acquisition.
    pub fn flush_all(&self, caches: &mut [PageCache]) {
        self.change(|LockedPages { pages, .. }| {
            for cache in caches {
                self.note_cached(pages, cache.base(), cache.pages());
                pages.flush(cache);
            }
        });
    }

    /// The same for caches of long runs.
    pub fn flush_all_long(&self, caches: &mut [LongCache<G>]) {
        self.change(|LockedPages { pages, .. }| {
            for cache in caches {
                self.note_cached(pages, cache.base(), cache.pages());
                pages.flush_long(cache);
            }
        });
    }

    /// Frees pages: [`PageAllocator::free`].
    pub fn free(&self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        self.change(|LockedPages { pages, .. }| {
            self.note(pages, first, count);
            pages.free(first, count)
        })
    }

    /// Frees many runs in one lock acquisition: [`PageAllocator::free_batch`].
    pub fn free_batch(&self, runs: &[(PageIndex, PageCount)]) -> Result<(), FreeError> {
        self.change(|LockedPages { pages, .. }| {
            runs.iter().for_each(|&(first, count)| self.note(pages, first, count));
            pages.free_batch(runs)
        })
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

    /// Notes the chunk of a cache whose pages are to be freed, if it has some.
    fn note_cached(&self, pages: &PageAllocator<G>, base: PageIndex, cached: PageCount) {
        self.note(pages, base, PageCount(cached.0.min(1)));
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
        let PendingRelease { first, count, resident } = run;
        let taken = release(first, count);
        self.change(|locked| {
            locked.pages.end_release(run, taken);
            locked.releasing -= count.0;
            if !taken {
                // Not earlier: until now the run counts as in use, and would make the chunk dense.
                self.note(&locked.pages, first, count);
            }
        });
        Some((resident, taken))
    }

    /// The first step of a release: finds candidates without the lock, and checks each under it.
    fn begin_release(&self, effort: Effort, policy: ScavengePolicy) -> Option<PendingRelease> {
        let full = effort == Effort::Full;
        let mut below = ChunkIndex(usize::MAX);
        loop {
            let chunk = self.index.candidate(below, full)?;
            below = chunk;
            let release = self.change(|locked| {
                if !full && locked.pages.is_dense(chunk) {
                    return None;
                }
                let release = locked.pages.begin_release(chunk, policy);
                match &release {
                    Some(release) => locked.releasing += release.count.0,
                    None => self.index.clear(chunk),
                }
                release
            });
            if release.is_some() {
                return release;
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
    pub fn is_valid(&self) -> Result<(), ValidationError> {
        let locked = self.locked.lock();
        locked.pages.is_valid()?;
        let forgotten = locked
            .pages
            .chunks_with_tables()
            .find(|&chunk| locked.pages.has_releasable(chunk) && !self.index.is_noted(chunk));
        let what = "its chunk has pages to release, but no note in the index";
        forgotten.map_or(Ok(()), |chunk| Err(ValidationError { what, page: chunk.first_page::<G>() }))
    }
}
