//! A page allocator that threads share: the allocator behind one lock, and beside it the scavenger's index, which is
//! read without. Mutators come here with their page cache when that cannot serve them. Invariant: everything that
//! changes the allocator holds the lock, and notes in the index what it frees before it lets go.
//!
//! Every lock acquisition is counted, so that what sharing costs can be reported and not only timed.

use crate::allocator::{PageAllocator, PageRun, parts};
use crate::cache::PageCache;
use crate::error::{AllocateError, FreeError, GrowError, NewError};
use crate::geometry::{Geometry, TreeShape};
use crate::index::ScavengeIndex;
use crate::lock_order::PAGES;
use crate::long_cache::LongCache;
use crate::scavenge::{Release, ReleasePolicy};
use crate::units::{ChunkIndex, PageCount, PageIndex};
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_os::threads::timed_lock::TimedGuard;
use heapwood_os::{ForkLock, KernelRef, OsError, TimedLock};

/// A page allocator for many threads.
pub struct SharedPages<G: Geometry> {
    locked: TimedLock<Locked<G>, PAGES>,
    index: ScavengeIndex<G>,
    glance: Glance,
}

/// What the allocator said when it was last let go, for those who ask without the lock.
struct Glance {
    in_use: AtomicUsize,
    resident: AtomicUsize,
}

impl Glance {
    fn new<G: Geometry>(pages: &PageAllocator<G>) -> Self {
        let glance = Glance { in_use: AtomicUsize::new(0), resident: AtomicUsize::new(0) };
        glance.update(pages, 0);
        glance
    }

    #[inline]
    fn update<G: Geometry>(&self, pages: &PageAllocator<G>, releasing: usize) {
        let grown = pages.grown_pages().0;
        self.in_use.store(grown - pages.free_pages().0 - releasing, Ordering::Relaxed);
        self.resident.store(grown - pages.scavenged_pages().0, Ordering::Relaxed);
    }
}

struct Locked<G: Geometry> {
    pages: PageAllocator<G>,
    /// Pages between the two ends of a release, which the allocator has in use.
    releasing: usize,
    lock_acquisitions: u64,
}

/// The lock, held; as it is let go, others learn how many pages are in use.
struct Held<'a, G: Geometry> {
    locked: TimedGuard<'a, Locked<G>, PAGES>,
    glance: &'a Glance,
}

impl<G: Geometry> core::ops::Deref for Held<'_, G> {
    type Target = Locked<G>;
    fn deref(&self) -> &Locked<G> {
        &self.locked
    }
}

impl<G: Geometry> core::ops::DerefMut for Held<'_, G> {
    fn deref_mut(&mut self) -> &mut Locked<G> {
        &mut self.locked
    }
}

impl<G: Geometry> Drop for Held<'_, G> {
    fn drop(&mut self) {
        self.glance.update(&self.locked.pages, self.locked.releasing);
    }
}

/// How it stands with the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageStats {
    /// Pages that exist.
    pub grown: PageCount,
    /// Pages that are free; those in caches are not.
    pub free: PageCount,
    /// Free pages that are scavenged.
    pub scavenged: PageCount,
    /// How often the lock was taken.
    pub lock_acquisitions: u64,
}

/// How much a scavenger takes upon itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// In the background: leaves dense chunks alone, and those that were dense in this cycle or the one before.
    Gentle,
    /// At once, because memory is needed or was asked for: whatever is free.
    Full,
}

impl<G: Geometry> SharedPages<G> {
    /// Reserves the tables for a window of N pages, of which none exists yet.
    ///
    /// # Errors
    /// As [`PageAllocator::new`].
    pub fn new(kernel: KernelRef, window: PageCount) -> Result<Self, NewError> {
        Self::over(kernel, PageAllocator::new(kernel, window)?).map_err(NewError::Refused)
    }

    /// Shares an allocator, whatever it holds.
    ///
    /// # Errors
    /// The kernel refuses memory for the index.
    pub fn over(kernel: KernelRef, pages: PageAllocator<G>) -> Result<Self, OsError> {
        let index = ScavengeIndex::new(kernel, pages.window())?;
        let chunk_pages = PageCount(TreeShape::<G>::CHUNK_PAGES);
        for chunk in pages.chunks_with_tables() {
            index.grow(chunk.first_page::<G>(), chunk_pages)?;
        }
        for chunk in pages.chunks_with_tables().filter(|&chunk| pages.has_releasable(chunk)) {
            index.note(chunk, || false);
        }
        Ok(SharedPages {
            glance: Glance::new(&pages),
            locked: TimedLock::new(Locked { pages, releasing: 0, lock_acquisitions: 0 }),
            index,
        })
    }

    fn lock(&self) -> Held<'_, G> {
        let mut locked = self.locked.lock();
        locked.lock_acquisitions += 1;
        Held { locked, glance: &self.glance }
    }

    /// The lock, for a process that forks.
    pub fn fork_lock(&self) -> &impl ForkLock {
        &self.locked
    }

    /// The longest that the lock was held, in ticks ([`heapwood_os::threads::timed_lock`]).
    pub fn longest_hold(&self) -> u64 {
        self.locked.longest_hold()
    }

    /// The pages in use, those in caches included, those being released not; asked without the lock, and so of a
    /// moment ago.
    #[inline]
    pub fn in_use(&self) -> PageCount {
        PageCount(self.glance.in_use.load(Ordering::Relaxed))
    }

    /// The pages that may be resident, in use or not; asked without the lock, too.
    #[inline]
    pub fn resident(&self) -> PageCount {
        PageCount(self.glance.resident.load(Ordering::Relaxed))
    }

    /// Whether pages are being released: a run that was not found may be there in a moment.
    pub fn is_releasing(&self) -> bool {
        self.locked.lock().releasing > 0
    }

    /// Takes a run of pages and sets none aside: [`PageAllocator::allocate`].
    pub fn allocate_uncached(&self, count: PageCount) -> Result<PageRun, AllocateError> {
        self.lock().pages.allocate(count)
    }

    /// Takes pages that begin at a multiple of their number: [`PageAllocator::allocate_aligned`].
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

    /// Takes a run of pages, out of the cache if that has one, and so without the lock:
    /// [`PageAllocator::allocate_into`].
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
        // The cache may give resident pages back; an empty one has no block.
        if !cache.is_empty() {
            self.note(&locked.pages, cache.base(), PageCount(1));
        }
        locked.pages.allocate_into(cache, count)
    }

    /// Takes back what a cache holds, as its mutator leaves.
    pub fn flush(&self, cache: &mut PageCache) {
        if cache.is_empty() {
            return;
        }
        let mut locked = self.lock();
        self.note(&locked.pages, cache.base(), PageCount(1));
        locked.pages.flush(cache);
    }

    /// Takes a run of pages for a mutator with several caches, none of which can serve the request, and fills those until
    /// they hold `most` pages together, or there are no more. So the lock is taken once for many pages.
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
        // What is too much came last.
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

    /// Takes a run of pages for a mutator whose cache of long runs cannot serve the request:
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

    /// Takes back what several caches hold, in one lock acquisition.
    pub fn flush_all(&self, caches: &mut [PageCache]) {
        let mut locked = self.lock();
        for cache in caches.iter_mut().filter(|cache| !cache.is_empty()) {
            self.note(&locked.pages, cache.base(), PageCount(1));
            locked.pages.flush(cache);
        }
    }

    /// The same of caches for long runs.
    pub fn flush_all_long(&self, caches: &mut [LongCache<G>]) {
        let mut locked = self.lock();
        for cache in caches.iter_mut().filter(|cache| !cache.is_empty()) {
            self.note(&locked.pages, cache.base(), PageCount(1));
            locked.pages.flush_long(cache);
        }
    }

    /// Gives pages back: [`PageAllocator::free`].
    pub fn free(&self, first: PageIndex, count: PageCount) -> Result<(), FreeError> {
        let mut locked = self.lock();
        self.note(&locked.pages, first, count);
        locked.pages.free(first, count)
    }

    /// Gives many back in one lock acquisition: [`PageAllocator::free_batch`].
    pub fn free_batch(&self, runs: &[(PageIndex, PageCount)]) -> Result<(), FreeError> {
        let mut locked = self.lock();
        for &(first, count) in runs {
            self.note(&locked.pages, first, count);
        }
        locked.pages.free_batch(runs)
    }

    /// Notes chunks of which pages are to be freed; a note too many does no harm.
    #[inline]
    fn note(&self, pages: &PageAllocator<G>, first: PageIndex, count: PageCount) {
        if count.0 == 0 || pages.outside(first, count).is_some() {
            return;
        }
        for (chunk, ..) in parts::<G>(first.0, count.0) {
            self.index.note(ChunkIndex(chunk), || pages.is_dense(ChunkIndex(chunk)));
        }
    }

    /// A new cycle begins: what became dense or not before is the past.
    pub fn new_cycle(&self) {
        self.index.new_cycle();
    }

    /// Releases memory of one run of free pages, the highest there is, by asking `release` for it, which tells whether
    /// the kernel has taken it; no lock is held meanwhile. Returns how many resident pages it was about and whether
    /// it was taken; `None` if there is nothing to release.
    pub fn scavenge(
        &self,
        effort: Effort,
        policy: ReleasePolicy,
        release: impl FnOnce(PageIndex, PageCount) -> bool,
    ) -> Option<(PageCount, bool)> {
        let run = self.begin_release(effort, policy)?;
        let (pages, first, count) = (run.resident(), run.first(), run.count());
        let taken = release(first, count);
        let mut locked = self.lock();
        locked.pages.end_release(run, taken);
        locked.releasing -= count.0;
        if !taken {
            // Not before: until now the run counts as in use, and would make the chunk dense.
            self.note(&locked.pages, first, count);
        }
        Some((pages, taken))
    }

    /// The first end of a release: finds candidates without the lock and looks at each under it.
    fn begin_release(&self, effort: Effort, policy: ReleasePolicy) -> Option<Release> {
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

    /// How it stands with the pages at this moment.
    pub fn stats(&self) -> PageStats {
        let locked = self.locked.lock();
        let pages = &locked.pages;
        PageStats {
            grown: pages.grown_pages(),
            free: pages.free_pages(),
            scavenged: pages.scavenged_pages(),
            lock_acquisitions: locked.lock_acquisitions,
        }
    }

    /// The allocator itself, while nobody else can use it: to look, or to be checked.
    pub fn with<R>(&self, look: impl FnOnce(&PageAllocator<G>) -> R) -> R {
        look(&self.locked.lock().pages)
    }

    /// Recomputes everything from the bits, and that every chunk with pages to release has its note.
    ///
    /// # Errors
    /// The first disagreement: [`PageAllocator::is_valid`].
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
