//! Allocation: the fast path, which takes the next cell of a mutator's allocation buffer, and the slow one, which may collect. These are
//! a mutator's methods, but they need the heap's collector, and so lie above both. Invariant: an object is never collected
//! before the store that makes it exist, and an allocation that is refused was preceded by a collection that could have
//! helped, unless it is told otherwise.

use crate::collect::Cause;
use crate::error::{AllocError, MisuseError};
use crate::mutator::Mutator;
use crate::types::ObjectType;
use core::ptr::NonNull;
#[cfg(doc)]
use heapwood_heap::AllocBuffer;
use heapwood_heap::{Collection, LargePages, ScanKind, ShapeId, SpaceError};
use heapwood_os::clock;

/// Zeroing N bytes of a large object takes long enough for others not to wait for it.
const LONG_TO_ZERO: usize = 64 << 10;

/// How often an allocation that finds no room collects at most, where other threads take what that frees.
const MOST_COLLECTIONS: u32 = 8;
/// How many collections it waits for in all: after those of others it may be long until it runs, and all is taken by then.
const MOST_WAITED_FOR: u32 = 64;

/// A large object, or pages for it that will take long to zero.
enum Allocation<'h> {
    Object(NonNull<u8>),
    Pages(LargePages<'h>),
}

impl Mutator {
    /// A cell of `shape` that is not yet taken: write the object, then [`AllocBuffer::commit`]. May collect.
    #[inline(always)]
    pub fn reserve(&self, shape: ShapeId, cell: usize) -> Result<NonNull<u8>, AllocError> {
        match self.buffer(shape).peek(cell) {
            Some(found) => Ok(found),
            None => self.reserve_slow(shape, cell),
        }
    }

    /// The slow half of [`Mutator::reserve`].
    #[cold]
    #[inline(never)]
    pub fn reserve_slow(&self, shape: ShapeId, cell: usize) -> Result<NonNull<u8>, AllocError> {
        let buffer = self.buffer(shape);
        // Nothing can be due where a span still has cells and nobody waits.
        let goes_on = !self.is_asked_to_stop() && self.check().is_ok();
        if goes_on {
            let _no_preempt = self.record().no_preempt();
            if self.owned().continue_run(shape, self.writes_values_whole()) {
                return Ok(buffer.peek(cell).expect("a run has a cell"));
            }
        }
        self.retry(cell, || self.owned().refill(shape, self.writes_values_whole()))?;
        // The thread that was stopped by a signal meanwhile has kept its run; polls are over.
        let found = buffer.peek(cell).expect("a refilled bump has a cell");
        self.remember_reused(found.as_ptr() as usize);
        Ok(found)
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
                // SAFETY: it was reserved just now, is as large as the shape's cells, and zero where it may hold pointers.
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
            // SAFETY: the object is new, of this size, and known to this thread alone.
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
        // Pages that no stop knows of become an object in the section in which they are taken.
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
            // On a stack where it cannot be left out of collections it is waited for.
            large.zero();
        }
        let _no_preempt = self.record().no_preempt();
        Ok(large.finish())
    }

    /// Tries `attempt`, which asks for memory for an object of `bytes` bytes, collecting when that is due or may help.
    pub(crate) fn retry<R>(
        &self,
        bytes: usize,
        attempt: impl Fn() -> Result<R, SpaceError>,
    ) -> Result<R, AllocError> {
        let heap = self.heap();
        let (state, space, pacer) = (heap.state(), heap.space(), heap.pacer());
        self.check().map_err(AllocError::Misuse)?;
        if self.is_thread_asked_to_stop() {
            self.safepoint_slow();
        }
        match state.stress() {
            Some(Collection::Full) => self.collect().map_err(AllocError::Misuse)?,
            Some(Collection::Young) => self.collect_young().map_err(AllocError::Misuse)?,
            None => {}
        }
        let may_collect = || pacer.may_collect(state.cycles().live_in_full(), clock::monotonic_ns());
        let (mut collections, mut mine) = (0, 0);
        loop {
            let (seen, cycle) =
                ((state.cycles().collections(), state.cycles().full_collections()), space.cycle());
            let trimmed = (collections > 0).then(|| space.arenas().trimmed_in());
            let attempted = {
                let _no_preempt = self.record().no_preempt();
                attempt()
            };
            let refused = match attempted {
                Ok(result) => return Ok(result),
                Err(refused) => refused,
            };
            let due = matches!(refused, SpaceError::CollectionDue);
            match refused {
                // Other threads may have used up a new budget meanwhile, so being due again is no failure. Near a limit
                // a collection may be put off: then what is left is used up first.
                SpaceError::CollectionDue if !may_collect() => {
                    space.put_off_collection(cycle);
                    continue;
                }
                SpaceError::CollectionDue => {}
                // The same goes for what others have taken since; but what is in small pieces never fits.
                _ if collections > 0 && !self.helps_again(bytes, (collections, mine), trimmed)
                    || !may_collect() =>
                {
                    pacer.share().refused();
                    return Err(self.refusal(bytes, refused, collections == 0));
                }
                _ => collections += 1,
            }
            let collected = match due {
                true => heap.collect_if(
                    self,
                    || state.cycles().collections() == seen.0,
                    Cause::BudgetExhausted(bytes),
                ),
                // Whoever collected meanwhile what is young alone has not looked for room.
                false => heap.collect_if(
                    self,
                    || state.cycles().full_collections() == seen.1,
                    Cause::AllocationFailed,
                ),
            };
            mine += (collected.map_err(AllocError::Misuse)? && !due) as u32;
        }
    }

    /// Whether another attempt or collection may find room for `bytes` bytes, after `collections`, of which `mine` were this
    /// thread's: other threads have taken what those freed, have closed arenas since, or have given quarantined addresses back
    /// since the attempt, before which that was done in cycle `trimmed` last.
    #[cold]
    fn helps_again(&self, bytes: usize, (collections, mine): (u32, u32), trimmed: Option<u32>) -> bool {
        let (state, pacer) = (self.shared(), self.heap().pacer());
        let space = state.space();
        let was_taken = || {
            let handed_out = space.stats().allocated_in_cycle;
            mine < MOST_COLLECTIONS
                && pacer.was_used_up(space.most_bytes(), state.cycles().live(), handed_out)
        };
        let arenas = || {
            let arenas = space.arenas();
            arenas.reclaimable_bytes() >= bytes.max(1) || trimmed != Some(arenas.trimmed_in())
        };
        collections < MOST_WAITED_FOR && (was_taken() || arenas())
    }

    #[cold]
    fn refusal(&self, bytes: usize, refused: SpaceError, put_off: bool) -> AllocError {
        let (live, arenas) = (self.shared().cycles().live(), self.shared().space().arenas().bytes());
        match refused {
            SpaceError::Limit { limit, .. } => AllocError::Limit { bytes, limit, live, put_off, arenas },
            SpaceError::Memory { most, .. } => AllocError::Memory { bytes, most, live, arenas },
            SpaceError::Window(e) => AllocError::Window(e),
            SpaceError::Kernel(e) => AllocError::Kernel(e),
            SpaceError::CollectionDue => unreachable!("retry goes on while a collection is due"),
        }
    }

    /// Collects now. A collection that begins after the call has ended when this returns.
    ///
    /// # Errors
    /// The mutator cannot be used now ([`Mutator::check`]), or the thread runs on another stack than that it was attached
    /// with, which cannot be scanned.
    pub fn collect(&self) -> Result<(), MisuseError> {
        self.heap().collect_if(self, || true, Cause::Program(Collection::Full)).map(|_| ())
    }

    /// The same of what was made since the last collection, if the heap has young collections now; otherwise of everything. What
    /// is older stays.
    ///
    /// # Errors
    /// As [`Mutator::collect`].
    pub fn collect_young(&self) -> Result<(), MisuseError> {
        self.heap().collect_if(self, || true, Cause::Program(Collection::Young)).map(|_| ())
    }

    /// Begins a full marking that goes on while the program runs, in steps that it asks for; false if one is under way already, or
    /// the kernel gives no memory for it. A young collection comes with it. A full collection that is asked for meanwhile ends it first.
    ///
    /// # Errors
    /// As [`Mutator::collect`], like those that follow.
    #[doc(hidden)]
    pub fn begin_stepped_marking(&self) -> Result<bool, MisuseError> {
        let (collector, state) = self.heap().stepped_marking();
        collector.start_marking(state, self)
    }

    /// Follows N edges of it, or scans so many pieces of objects; false if there is nothing left now.
    #[doc(hidden)]
    pub fn step_marking(&self, edges: usize) -> Result<bool, MisuseError> {
        let (collector, state) = self.heap().stepped_marking();
        collector.step_marking(state, self, edges)
    }

    /// Marks what is left, and ends it, as a full collection ends; false if none is under way.
    #[doc(hidden)]
    pub fn finish_marking(&self) -> Result<bool, MisuseError> {
        let (collector, state) = self.heap().stepped_marking();
        collector.finish_marking(state, self)
    }
}
