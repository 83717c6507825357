//! Allocation: the fast path, which takes the next cell of a mutator's allocation buffer, and the slow path, which may
//! collect, or wait for a marking beside the program. Both are methods of a mutator, but need the heap's collector, and so lie above both. Invariant: an object
//! is never collected before the store that makes it exist. Before an allocation fails, there was a full collection that
//! could have helped.

use crate::collect::Cause;
use crate::error::{AllocError, Misuse};
use crate::heap::object_type::ObjectType;
use crate::mutator::{Mutator, ThreadState};
use crate::policy::pace_limits::{PASSED_BYTES, PASSED_PART};
use crate::state::FullCollections;
use crate::state::barrier_bits::MARK;
use core::ptr::NonNull;
use core::time::Duration;
#[cfg(doc)]
use heapwood_heap::AllocBuffer;
use heapwood_heap::{Collection, LargePages, Owner, ScanKind, ShapeId, SpaceError};
use heapwood_os::process::clock::monotonic_ns;

/// A large object with this many bytes to zero takes so long that other threads must not wait for it.
const LONG_TO_ZERO: usize = 64 << 10;

/// The most collections by an allocation that finds no room while other threads take the memory that they free.
const MOST_COLLECTIONS: u32 = 8;
/// The most collections for which it waits in all: after another thread's collection all memory may be taken before it
/// runs.
const MOST_WAITED_FOR: u32 = 64;

/// A large object, or pages for it that take long to zero.
enum Allocation<'h> {
    Object(NonNull<u8>),
    Pages(LargePages<'h>),
}

impl Mutator {
    /// A cell of `shape` that is not yet allocated: write the object, then call [`AllocBuffer::commit`]. May collect.
    #[inline(always)]
    pub fn reserve(&self, shape: ShapeId, cell: usize) -> Result<NonNull<u8>, AllocError> {
        match self.buffer(shape).peek(cell) {
            Some(found) => Ok(found),
            None => self.reserve_slow(shape, cell),
        }
    }

    /// The slow path of [`Mutator::reserve`].
    #[cold]
    #[inline(never)]
    pub fn reserve_slow(&self, shape: ShapeId, cell: usize) -> Result<NonNull<u8>, AllocError> {
        let buffer = self.buffer(shape);
        // No collection can be due while a span still has cells, if no thread asks this one to stop.
        let goes_on = (!self.is_asked_to_stop() || self.defers_collections()) && self.check().is_ok();
        let keeps = self.stops_by_signals();
        if goes_on {
            let _no_preempt = self.record().no_preempt();
            let owner = self.owned().keeping_runs(keeps);
            if owner.continue_run(shape, self.types().writes_values_whole()) {
                self.remember_reused(shape, cell);
                return Ok(buffer.peek(cell).expect("a run has a cell"));
            }
        }
        let refill = |owner: Owner<'_>| owner.refill(shape, self.types().writes_values_whole());
        self.retry(cell, || refill(self.owned().keeping_runs(keeps)))?;
        // A thread that a signal stopped meanwhile has kept its run; it does not poll before the cell is used.
        let found = buffer.peek(cell).expect("a refilled buffer has a cell");
        self.remember_reused(shape, cell);
        Ok(found)
    }

    /// Remembers the old cells that the program freed and that a buffer is about to give out.
    pub(super) fn remember_reused(&self, shape: ShapeId, cell: usize) {
        if self.barrier().flag() != 0 && self.owned().reuses_old(shape) {
            self.barrier().remember_reused(self.buffer(shape).freed_run(cell));
        }
    }

    /// Allocates an object of a type of this heap; its memory is zero where it may hold pointers. May collect.
    ///
    /// # Panics
    /// If the type is another heap's, and this one has none of its number and size.
    #[inline]
    pub fn allocate(&self, ty: ObjectType) -> Result<NonNull<u8>, AllocError> {
        match ty.cell_size() {
            Some(cell) => {
                let object = self.reserve(ty.shape(), cell)?;
                let buffer = self.buffer(ty.shape());
                assert!(buffer.cell_size() == cell, "the type is another heap's: register it with this one");
                // SAFETY: it was reserved just now, has the size of the shape's cells, and is zero where it may hold
                // pointers.
                unsafe { buffer.commit(object, cell) };
                Ok(object)
            }
            None => self.allocate_large(ty.shape(), ty.size(), false),
        }
    }

    /// Allocates an object of zeros. May collect.
    pub fn allocate_zeroed(&self, ty: ObjectType) -> Result<NonNull<u8>, AllocError> {
        if ty.cell_size().is_none() {
            return self.allocate_large(ty.shape(), ty.size(), true);
        }
        let object = self.allocate(ty)?;
        if self.heap().space().layouts().shape(ty.shape()).kind() == ScanKind::NoPointers {
            // SAFETY: the object is new, of this size, and known only to this thread.
            unsafe { object.as_ptr().write_bytes(0, ty.size()) };
        }
        Ok(object)
    }

    /// Allocates an object with pages of its own. May collect.
    #[cold]
    #[inline(never)]
    pub fn allocate_large(
        &self,
        shape: ShapeId,
        bytes: usize,
        zeroed: bool,
    ) -> Result<NonNull<u8>, AllocError> {
        let owner = self.owned();
        // Pages that no stop knows of become an object in the no-preempt region in which they are taken.
        let taken = self.retry(bytes, || {
            let large = owner.take_large(shape, bytes, zeroed)?;
            if large.bytes_to_zero() >= LONG_TO_ZERO {
                return Ok(Allocation::Pages(large));
            }
            large.zero();
            Ok(Allocation::Object(large.finish()))
        })?;
        let large = match taken {
            Allocation::Object(object) => return Ok(object),
            Allocation::Pages(large) => large,
        };
        if self.blocking(|| large.zero()).is_err() {
            // On an unknown stack the thread cannot enter a blocking region: collections wait for it.
            large.zero();
        }
        let _no_preempt = self.record().no_preempt();
        Ok(large.finish())
    }

    /// Calls `attempt`, which asks for memory for an object of `bytes` bytes, until it succeeds; collects when that is
    /// due or may help.
    pub(crate) fn retry<R>(
        &self,
        bytes: usize,
        attempt: impl Fn() -> Result<R, SpaceError>,
    ) -> Result<R, AllocError> {
        if self.defers_collections() {
            return self.retry_deferred(bytes, attempt);
        }
        let heap = self.heap();
        let (state, space) = (heap.state(), heap.space());
        self.check()?;
        if self.is_thread_asked_to_stop() {
            self.safepoint_slow();
        }
        if state.posted().is_posted() {
            // A thread that cannot collect leaves it to the next.
            let _ = self.make_posted();
        }
        if self.has_finalizers_to_call() {
            self.call_finalizers();
        }
        if let Some(kind) = state.stress().filter(|_| space.collections_off() == 0) {
            // Another thread may switch collections off meanwhile.
            heap.collect_if(self, || true, Cause::Program(kind))?;
        }
        if state.full_collections().is_due() {
            // The program has asked for a collection that no marker makes. A thread that cannot collect leaves it to the next.
            let _ =
                heap.collect_if(self, || state.full_collections().is_due(), Cause::Program(Collection::Full));
        }
        let (mut collections, mut mine, mut waits_since) = (0, 0, None);
        loop {
            let news = state.pace_waiters().seen();
            let seen = state.cycles().collections();
            // A marking that goes on has kept what was dropped since it began: its end may free nothing.
            let next_full = FullCollections::next(state.cycles(), state.barrier() & MARK != 0);
            let (attempted, trimmed) = {
                let _no_preempt = self.record().no_preempt();
                let trimmed = (collections > 0).then(|| space.arenas().trimmed_in());
                (attempt(), trimmed)
            };
            let refused = match attempted {
                Ok(result) => {
                    if let Some(began) = waits_since {
                        state.pace_waiters().count(began);
                    }
                    return Ok(result);
                }
                Err(refused) => refused,
            };
            if matches!(refused, SpaceError::MarkingBehind) {
                self.wait_for_marker(bytes, news, &mut waits_since)?;
                continue;
            }
            let due = matches!(refused, SpaceError::CollectionDue);
            let count = space.collections_off();
            if count != 0 {
                match due {
                    // They were switched off just now.
                    true => continue,
                    false => return Err(self.refused_without_collection(bytes, refused, count)),
                }
            }
            match refused {
                // Other threads may have used up a new budget meanwhile, so a second due collection is no failure.
                SpaceError::CollectionDue => {}
                // The same holds for memory that other threads have taken since; but fragmented memory never fits.
                _ if collections > 0 && !self.may_find_room(bytes, (collections, mine), trimmed) => {
                    return Err(self.allocation_error(bytes, refused));
                }
                _ => collections += 1,
            }
            let collected = match due {
                true => heap.collect_if(
                    self,
                    || state.cycles().collections() == seen,
                    Cause::BudgetExhausted(bytes),
                ),
                // A young collection by another thread meanwhile has not looked for room.
                false => heap.collect_if(
                    self,
                    || state.cycles().full_collections() < next_full,
                    Cause::AllocationFailed,
                ),
            };
            mine += (collected? && !due) as u32;
            if self.has_finalizers_to_call() {
                self.call_finalizers();
            }
        }
    }

    /// Waits until the marker has come further than when `seen` was read; `since` tells since when. After a short time it lets something
    /// be allocated all the same.
    #[cold]
    fn wait_for_marker(&self, bytes: usize, seen: u32, since: &mut Option<u64>) -> Result<(), Misuse> {
        let state = self.shared();
        let began = *since.get_or_insert_with(monotonic_ns);
        let waited = Duration::from_nanos(monotonic_ns().saturating_sub(began));
        let waiters = state.pace_waiters();
        if let Some(left) = waiters.patience().checked_sub(waited).filter(|left| !left.is_zero()) {
            return self.away(ThreadState::AtSafepoint, || waiters.wait(seen, left));
        }
        waiters.count(began);
        waiters.give_up();
        *since = None;
        let _no_preempt = self.record().no_preempt();
        state.space().pass_pace(PASSED_BYTES.max(bytes / PASSED_PART));
        Ok(())
    }

    /// Waits for the marker as long as an allocation would.
    pub(super) fn wait_for_marker_once(&self) -> Result<(), Misuse> {
        let (waiters, began) = (self.shared().pace_waiters(), monotonic_ns());
        let (seen, patience) = (waiters.seen(), waiters.patience());
        self.away(ThreadState::AtSafepoint, || waiters.wait(seen, patience))?;
        waiters.count(began);
        Ok(())
    }

    /// Makes the pause that the marker has posted, if there is one.
    ///
    /// # Errors
    /// As for [`Mutator::collect`].
    #[cold]
    pub(crate) fn make_posted(&self) -> Result<(), Misuse> {
        let (heap, state) = (self.heap(), self.shared());
        if state.posted().is_posted() {
            self.check()?;
            self.away(ThreadState::AtSafepoint, || heap.collector().make_posted(state))?;
        }
        Ok(())
    }

    /// Whether another attempt or collection may find room for `bytes` bytes, after `collections`, including `mine` by
    /// this thread: other threads have taken the memory that those freed, have closed arenas since, or have released
    /// quarantined addresses since the attempt; `trimmed` is the cycle of the last release before it.
    #[cold]
    fn may_find_room(&self, bytes: usize, (collections, mine): (u32, u32), trimmed: Option<u32>) -> bool {
        let (state, pacer) = (self.shared(), self.heap().collector().pacer());
        let space = state.space();
        // These questions take locks: no signal may stop the thread while it holds one.
        let _no_preempt = self.record().no_preempt();
        let was_taken = || {
            let allocated = space.stats().allocated_in_cycle + space.external().change().rose;
            let live = state.cycles().live();
            mine < MOST_COLLECTIONS
                && pacer.was_used_up(space.most_bytes(), (live, space.external().level()), allocated)
        };
        let arenas = || {
            let arenas = space.arenas();
            arenas.reclaimable_bytes() >= bytes.max(1) || trimmed != Some(arenas.trimmed_in())
        };
        collections < MOST_WAITED_FOR && (was_taken() || arenas())
    }

    /// The error of an allocation that would need a collection while these are off.
    #[cold]
    fn refused_without_collection(&self, bytes: usize, refused: SpaceError, count: u32) -> AllocError {
        match refused {
            SpaceError::Kernel(e) => AllocError::Kernel(e),
            _ => AllocError::CollectionsOff { bytes, limit: self.heap().limit(), count },
        }
    }

    #[cold]
    pub(super) fn allocation_error(&self, bytes: usize, refused: SpaceError) -> AllocError {
        let arenas = {
            let _no_preempt = self.record().no_preempt();
            self.shared().space().arenas().bytes()
        };
        let live = self.shared().cycles().live();
        match refused {
            SpaceError::Limit { limit, .. } => {
                let external = self.shared().space().external().level();
                AllocError::Limit { bytes, limit, live, arenas, external }
            }
            SpaceError::Memory { most, .. } => AllocError::Memory { bytes, most, live, arenas },
            SpaceError::ReservationFull(e) => AllocError::ReservationFull(e),
            SpaceError::Kernel(e) => AllocError::Kernel(e),
            SpaceError::CollectionDue | SpaceError::MarkingBehind => {
                unreachable!("retry goes on while a collection is due, or a marking is behind")
            }
        }
    }

    /// Collects now. A collection that begins after the call has ended when this returns.
    ///
    /// # Errors
    /// The mutator cannot be used now ([`Mutator::check`]), or the thread runs on another stack than that with which it
    /// was attached, which cannot be scanned; or collections are off.
    pub fn collect(&self) -> Result<(), Misuse> {
        self.collect_now(Collection::Full)
    }

    /// The same with a young collection, if the heap has young collections now, and otherwise a full one.
    ///
    /// # Errors
    /// As for [`Mutator::collect`].
    pub fn collect_young(&self) -> Result<(), Misuse> {
        self.collect_now(Collection::Young)
    }

    fn collect_now(&self, kind: Collection) -> Result<(), Misuse> {
        if self.defers_collections() {
            return Err(Misuse::CollectionsOff(1));
        }
        match self.heap().collect_if(self, || true, Cause::Program(kind))? {
            true => Ok(()),
            false => Err(self.heap().refusal()),
        }
    }
}
