//! Arenas, as their mutator uses them: memory for what dies together (`heapwood-heap/arenas`). Fast paths are the header's; what they
//! cannot serve comes here, as does whatever opens, empties or closes an arena. Here it is decided what becomes of an arena's
//! memory: the next arena gets it if nothing can point into it any more; else its addresses rest; and during a concurrent marking that may have
//! to go through it the collector frees it.
//! Invariant: an arena is used by the thread of the mutator that opened it, while it is open; all else is refused with a reason.

use crate::error::{AllocError, ArenaError};
use crate::heap::Heap;
use crate::heap::types::ObjectType;
use crate::inject::Fault;
use crate::mutator::Mutator;
use crate::process::record;
use core::ptr::NonNull;
use heapwood_heap::{
    Address, ArenaHeader, ArenaKind, ArenaLayout, ArenaState, Closing, MOST_IN_ARENA, SpaceError, publication,
};

/// Why an arena cannot be used by a thread that is not attached to the heap that its handle leads into.
pub fn refuse_arena(handle: usize) -> AllocError {
    AllocError::Arena(crate::process::refuse_arena(handle))
}

impl Heap {
    /// The arena, open or not, whose handle this is, as far as the memory tells; the handle may be anything.
    pub fn find_arena_header(&self, handle: usize) -> Option<&ArenaHeader> {
        publication::observe();
        let space = self.space();
        let is_there = |at: usize| {
            // A header is an object of its own, and in verify mode nobody may read where an arena was.
            space.contains(Address::new(at)) && space.arenas().find(Address::new(at)).is_none()
        };
        let last = handle.checked_add(ArenaHeader::BYTES - 1)?;
        if !handle.is_multiple_of(align_of::<ArenaHeader>()) || !is_there(handle) || !is_there(last) {
            return None;
        }
        // SAFETY: memory of the heap, aligned, whatever is in it: any words are a header's.
        let header = unsafe { &*(handle as *const ArenaHeader) };
        header.is_header().then_some(header)
    }

    /// Verify mode says why an arena is not used.
    fn report_refused_arena(&self, why: ArenaError) {
        if let Some(log) = self.arena_log() {
            log.refused(why);
        }
    }

    /// Why a thread that is not attached cannot use the arena of a handle; `None` if the handle does not lead here.
    pub(crate) fn refuse_arena(&self, handle: usize) -> Option<ArenaError> {
        if !self.space().contains(Address::new(handle)) {
            return None;
        }
        let why = match self.find_arena_header(handle) {
            Some(arena) => ArenaError::OtherThread { arena: arena.number() },
            None => ArenaError::NoArena { address: handle },
        };
        self.report_refused_arena(why);
        Some(why)
    }
}

impl Mutator {
    /// Opens an arena, for the calling thread. If it `zeroes`, values with pointers are zeros when they are handed out; else
    /// the thread that asks for them writes them whole before they are committed. May collect.
    ///
    /// # Errors
    /// There is no memory for its header, or the mutator cannot be used now.
    pub fn open_arena(&self, kind: ArenaKind, zeroes: bool) -> Result<NonNull<ArenaHeader>, AllocError> {
        self.check().map_err(AllocError::Misuse)?;
        // A program that makes little else would never come to a collection.
        self.retry(0, || self.owned().announce_arenas())?;
        let reopened = {
            let _no_preempt = self.record().no_preempt();
            self.owned().reopen_arena(kind, zeroes)
        };
        let place = match reopened {
            Some(place) => place,
            None => {
                let place = self.allocate(ObjectType::no_pointers(ArenaHeader::BYTES))?.cast();
                let _no_preempt = self.record().no_preempt();
                // SAFETY: a new object without pointers, for this alone.
                unsafe { self.owned().open_arena(place, kind, zeroes) };
                place
            }
        };
        // SAFETY: an open arena's header, which its mutator's list keeps.
        let arena = unsafe { place.as_ref() };
        arena.client()[0].set(core::ptr::from_ref(self) as usize);
        if let Some(log) = self.heap().arena_log() {
            // Who closes one waits for the log's lock in a section: this thread must not be stopped as it holds it.
            let _no_preempt = self.record().no_preempt();
            log.opened(arena.number());
        }
        Ok(place)
    }

    /// Whether an arena can be used here now. Verify mode says why not on standard error, too.
    ///
    /// # Errors
    /// It is no open arena of this mutator's, or that cannot be used now.
    pub fn check_arena(&self, arena: &ArenaHeader) -> Result<(), AllocError> {
        let number = arena.number();
        let why = match arena.state() {
            _ if !arena.is_header() => ArenaError::NoArena { address: core::ptr::from_ref(arena) as usize },
            ArenaState::Open if arena.client()[0].get() == core::ptr::from_ref(self) as usize => {
                return self.check().map_err(AllocError::Misuse);
            }
            ArenaState::Open => ArenaError::OtherThread { arena: number },
            ArenaState::Closed => ArenaError::Closed { arena: number },
            ArenaState::Left => ArenaError::Left { arena: number },
        };
        self.heap().report_refused_arena(why);
        Err(AllocError::Arena(why))
    }

    /// The mutator of the calling thread, of all that it has, in whose heap an address lies.
    pub fn of_address(address: usize) -> Option<NonNull<Mutator>> {
        let is_there = |mutator: &&Mutator| mutator.heap().space().contains(Address::new(address));
        record().iter().find(is_there).map(NonNull::from)
    }

    /// Calls `f` with each mutator of the calling thread.
    pub fn for_each_here(f: impl FnMut(&Mutator)) {
        record().iter().for_each(f);
    }

    /// The arena whose handle this is, for the calling thread; the handle may be anything.
    ///
    /// # Errors
    /// As [`check_arena`](Mutator::check_arena).
    pub fn arena_of_handle(&self, handle: usize) -> Result<&ArenaHeader, AllocError> {
        match self.heap().find_arena_header(handle) {
            Some(arena) => self.check_arena(arena).map(|()| arena),
            None => {
                let why = ArenaError::NoArena { address: handle };
                self.heap().report_refused_arena(why);
                Err(AllocError::Arena(why))
            }
        }
    }

    /// Room for `count` values of a layout, one behind the other: write them, then [commit](ArenaHeader::commit) them. `key` is not
    /// below 2, and the same for no other layout. May collect.
    ///
    /// # Errors
    /// The arena cannot be used here now, or there is no memory for it.
    ///
    /// # Panics
    /// The values have more than [`MOST_IN_ARENA`] bytes together: such are [passed](Mutator::allocate_external) to the heap.
    ///
    /// # Safety
    /// 1. `arena` came from [`open_arena`](Mutator::open_arena) of this heap, and the heap is there.
    #[cold]
    #[inline(never)]
    pub unsafe fn reserve_in_arena(
        &self,
        arena: &ArenaHeader,
        (key, layout): (usize, ArenaLayout),
        count: usize,
    ) -> Result<usize, AllocError> {
        assert!(count <= MOST_IN_ARENA / layout.bytes(), "longer values live in the heap");
        self.check_arena(arena)?;
        // Nothing can be due where there is room and nobody waits.
        if !self.is_asked_to_stop() && self.shared().stress().is_none() {
            let _no_preempt = self.record().no_preempt();
            // SAFETY: it is this mutator's and open, and the values fit.
            if let Some(at) = unsafe { self.owned().go_on_in_arena(arena, (key, layout), count) } {
                return Ok(at);
            }
        }
        let bytes = count * layout.bytes();
        // SAFETY: it is this mutator's and open, and the values fit.
        self.retry_in_arena(arena, bytes, || unsafe {
            self.owned().reserve_in_arena(arena, (key, layout), count)
        })
    }

    /// A value of `bytes` bytes without pointers; `align` is a power of two, at most 16. What it holds is left over. May collect.
    ///
    /// # Errors
    /// As [`reserve_in_arena`](Mutator::reserve_in_arena).
    ///
    /// # Panics
    /// As there.
    ///
    /// # Safety
    /// 1. As there.
    #[cold]
    #[inline(never)]
    pub unsafe fn take_arena_data(
        &self,
        arena: &ArenaHeader,
        bytes: usize,
        align: usize,
    ) -> Result<usize, AllocError> {
        assert!(bytes <= MOST_IN_ARENA, "longer values live in the heap");
        self.check_arena(arena)?;
        // SAFETY: it is this mutator's and open, and the value fits.
        self.retry_in_arena(arena, bytes, || unsafe { self.owned().take_arena_data(arena, bytes, align) })
    }

    /// Tries `attempt`, which asks for room for `bytes` bytes in an open arena of this mutator's, until it is refused for good; and then
    /// once more in the shortest chunk, for which there may be room where there is none for the next in size.
    fn retry_in_arena<R>(
        &self,
        arena: &ArenaHeader,
        bytes: usize,
        attempt: impl Fn() -> Result<R, SpaceError>,
    ) -> Result<R, AllocError> {
        self.retry(bytes, &attempt).or_else(|refused| {
            if matches!(refused, AllocError::Misuse(_)) {
                return Err(refused);
            }
            let _no_preempt = self.record().no_preempt();
            // SAFETY: the arena is open, and this mutator's.
            let taken = unsafe { self.owned().take_least_chunk(arena, bytes) };
            taken.and_then(|()| attempt()).map_err(|_| refused)
        })
    }

    /// Takes all values of an arena away; it stays open.
    ///
    /// # Errors
    /// The arena cannot be used here now.
    ///
    /// # Safety
    /// 1. `arena` came from [`open_arena`](Mutator::open_arena) of this heap, and the heap is there.
    /// 2. Nobody reads or writes its values any more. If it is a [borrowed](ArenaKind::Borrowed) one nothing refers to them either, but
    ///    words that may or may not be pointers.
    pub unsafe fn empty_arena(&self, arena: &ArenaHeader) -> Result<(), AllocError> {
        // SAFETY: contracts 1 and 2.
        unsafe { self.end_values(arena, ArenaState::Open) }
    }

    /// Closes an arena: its values are gone, and so is the arena. Its handle is refused from now on.
    ///
    /// # Errors
    /// As [`empty_arena`](Mutator::empty_arena).
    ///
    /// # Safety
    /// 1. As there.
    pub unsafe fn close_arena(&self, arena: &ArenaHeader) -> Result<(), AllocError> {
        // SAFETY: contract 1.
        unsafe { self.end_values(arena, ArenaState::Closed) }
    }

    /// Ends all values of an arena, which is in the state `after` then.
    ///
    /// # Errors
    /// As [`empty_arena`](Mutator::empty_arena).
    ///
    /// # Safety
    /// 1. As there.
    unsafe fn end_values(&self, arena: &ArenaHeader, after: ArenaState) -> Result<(), AllocError> {
        self.check_arena(arena)?;
        // SAFETY: contract 1.
        unsafe { self.empty_external(arena) };
        let _no_preempt = self.record().no_preempt();
        // SAFETY: contract 1; the region ends when the values are gone.
        unsafe { self.free_external(arena) };
        let closing = self.closing(arena);
        self.log_closing(arena, closing);
        self.keep_what_is_new(arena, closing);
        // SAFETY: contract 1; it is open, and this mutator's.
        unsafe { self.owned().end_arena(arena, closing, after) };
        self.wake_for_free_chunks();
        Ok(())
    }

    /// Leaves an arena to the collector: it takes no more values, and is freed when nothing points into it any more. Its handle is
    /// refused from now on.
    ///
    /// # Errors
    /// As [`empty_arena`](Mutator::empty_arena).
    ///
    /// # Safety
    /// 1. `arena` came from [`open_arena`](Mutator::open_arena) of this heap, and the heap is there.
    pub unsafe fn leave_arena(&self, arena: &ArenaHeader) -> Result<(), AllocError> {
        self.check_arena(arena)?;
        let _no_preempt = self.record().no_preempt();
        // SAFETY: contract 1; it is open, and this mutator's.
        unsafe { self.owned().leave_arena(arena) };
        Ok(())
    }

    /// What becomes of the memory of an arena that is closed or emptied.
    fn closing(&self, arena: &ArenaHeader) -> Closing {
        if self.is_concurrent_marking() && !self.shared().faults().fails(Fault::ArenaClosedAtOnce) {
            return Closing::Left;
        }
        match arena.kind() {
            ArenaKind::Borrowed | ArenaKind::Promised if !self.shared().space().arenas().are_protected() => {
                Closing::Recycled
            }
            _ => Closing::Quarantine,
        }
    }

    /// A marking goes on through an arena's old pieces when its handle leads there no longer: so what those were given since the last
    /// collection is remembered for a young one.
    fn keep_what_is_new(&self, arena: &ArenaHeader, closing: Closing) {
        if closing == Closing::Left && !self.shared().faults().fails(Fault::ArenaWindowForgotten) {
            self.remember_words(self.owned().unseen_in_arena(arena));
        }
    }

    fn log_closing(&self, arena: &ArenaHeader, closing: Closing) {
        if closing != Closing::Recycled
            && let Some(log) = self.heap().arena_log()
        {
            log.closed(arena.number());
        }
    }

    /// The heap's own thread looks after memory that no arena needs.
    fn wake_for_free_chunks(&self) {
        self.shared().wakeup().arena_closed();
    }

    /// The thread leaves: arenas that are open are the collector's from now on. What they were given since the last collection is not
    /// looked at by a young one, so the next is none, or promotes all.
    pub(crate) fn leave_arenas(&self) {
        let owner = self.owned();
        owner.leave_all_arenas(|arena| {
            if let Some(log) = self.heap().arena_log() {
                log.leaked(arena.number());
            }
        });
        if owner.forget_active_arenas() {
            self.shared().remembered().overflow();
        }
    }
}
