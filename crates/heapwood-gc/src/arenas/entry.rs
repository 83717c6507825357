//! Arenas, as their mutator uses them: memory for objects that die together (`heapwood-heap/arenas`). The header has the
//! fast paths. The slow paths are here, with opening, emptying and closing. The memory of an arena that ends goes to the
//! next arena if nothing can point into it any more; otherwise its addresses are quarantined; and during a concurrent
//! marking, which may have to go through it, it is left to the collector.
//! Invariant: only the thread of the mutator that opened an arena uses it, while it is open. Any other use is an error.

use crate::error::{AllocError, Refusal};
use crate::heap::Heap;
use crate::heap::object_type::ObjectType;
use crate::inject::Fault;
use crate::mutator::Mutator;
use core::ptr::NonNull;
use heapwood_heap::{Address, ArenaHeader, ArenaKind, ArenaLayout, ArenaState, MOST_IN_ARENA, SpaceError};

/// The error of a thread that uses the handle of an arena and is attached to no heap in which the handle lies.
pub fn arena_handle_error(handle: usize) -> AllocError {
    AllocError::Refused(crate::process::arena_handle_error(handle))
}

impl Heap {
    /// In verify mode: reports an error of the use of an arena.
    fn report_arena_error(&self, error: Refusal) {
        if let Some(log) = self.arena_log() {
            log.refused(self.state().reports(), error);
        }
    }

    /// The error of a thread that is not attached and uses this handle of an arena; `None` if it lies in another heap.
    pub(crate) fn arena_handle_error(&self, handle: usize) -> Option<Refusal> {
        if !self.space().contains(Address::new(handle)) {
            return None;
        }
        let why = match self.objects().arena_header(handle) {
            Some(arena) => Refusal::ArenaOfOtherThread { arena: arena.number() },
            None => Refusal::NoArena { address: handle },
        };
        self.report_arena_error(why);
        Some(why)
    }
}

/// The arenas of a mutator.
#[derive(Clone, Copy)]
pub struct MutatorArenas<'m>(pub(super) &'m Mutator);

impl Mutator {
    /// Its arenas.
    #[inline(always)]
    pub fn arenas(&self) -> MutatorArenas<'_> {
        MutatorArenas(self)
    }
}

impl<'m> MutatorArenas<'m> {
    /// Opens an arena for the calling thread. If it `zeroes`, values with pointers are allocated as zeros; otherwise the
    /// thread that allocates them writes them whole before it commits them. May collect.
    ///
    /// # Errors
    /// There is no memory for its header, or the mutator cannot be used now.
    pub fn open(self, kind: ArenaKind, zeroes: bool) -> Result<NonNull<ArenaHeader>, AllocError> {
        self.0.check()?;
        // Otherwise a program that allocates little else would never collect.
        self.0.retry(0, || self.0.owned().announce_arenas())?;
        let reopened = {
            let _no_preempt = self.0.record().no_preempt();
            self.0.owned().reopen_arena(kind, zeroes)
        };
        let place = match reopened {
            Some(place) => place,
            None => {
                let place = self.0.allocate(ObjectType::no_pointers(ArenaHeader::BYTES))?.cast();
                let _no_preempt = self.0.record().no_preempt();
                // SAFETY: a new object without pointers, for this alone.
                unsafe { self.0.owned().open_arena(place, kind, zeroes) };
                place
            }
        };
        // SAFETY: an open arena's header, which its mutator's list keeps alive.
        let arena = unsafe { place.as_ref() };
        arena.client()[0].set(core::ptr::from_ref(self.0) as usize);
        if let Some(log) = self.0.heap().arena_log() {
            // A thread that closes an arena waits for the log's lock in a no-preempt region: no signal may stop this
            // thread while it holds the lock.
            let _no_preempt = self.0.record().no_preempt();
            log.opened(arena.number());
        }
        Ok(place)
    }

    /// Whether the calling thread may use an arena now. Verify mode reports an error on standard error, too.
    ///
    /// # Errors
    /// It is no open arena of this mutator's, or that cannot be used now.
    pub fn check(self, arena: &ArenaHeader) -> Result<(), AllocError> {
        let number = arena.number();
        let why = match arena.state() {
            _ if !arena.is_header() => Refusal::NoArena { address: core::ptr::from_ref(arena) as usize },
            ArenaState::Open if arena.client()[0].get() == core::ptr::from_ref(self.0) as usize => {
                return Ok(self.0.check()?);
            }
            ArenaState::Open => Refusal::ArenaOfOtherThread { arena: number },
            ArenaState::Closed => Refusal::ArenaClosed { arena: number },
            _ => Refusal::ArenaLeft { arena: number },
        };
        self.0.heap().report_arena_error(why);
        Err(AllocError::Refused(why))
    }

    /// The arena with this handle, for the calling thread; the handle may be any number.
    ///
    /// # Errors
    /// As [`check`](MutatorArenas::check).
    pub fn find(self, handle: usize) -> Result<&'m ArenaHeader, AllocError> {
        match self.0.heap().objects().arena_header(handle) {
            Some(arena) => self.check(arena).map(|()| arena),
            None => {
                let why = Refusal::NoArena { address: handle };
                self.0.heap().report_arena_error(why);
                Err(AllocError::Refused(why))
            }
        }
    }

    /// Room for `count` adjacent values of a layout: write them, then [commit](ArenaHeader::commit) them. `key` is at
    /// least 2, and each layout has its own. May collect.
    ///
    /// # Errors
    /// The arena cannot be used here now, or there is no memory for it.
    ///
    /// # Panics
    /// The values have more than [`MOST_IN_ARENA`] bytes together: such values live in the heap
    /// ([`MutatorArenas::allocate_external`]).
    ///
    /// # Safety
    /// 1. `arena` came from [`open`](MutatorArenas::open) of this heap, and the heap is there.
    #[cold]
    #[inline(never)]
    pub unsafe fn reserve(
        self,
        arena: &ArenaHeader,
        (key, layout): (usize, ArenaLayout),
        count: usize,
    ) -> Result<usize, AllocError> {
        assert!(count <= MOST_IN_ARENA / layout.bytes(), "longer values live in the heap");
        self.check(arena)?;
        // If there is room and no collector waits, no collection can be due.
        if !self.0.is_asked_to_stop() && self.0.shared().stress().is_none() {
            let _no_preempt = self.0.record().no_preempt();
            // SAFETY: it is this mutator's and open, and the values fit.
            if let Some(at) = unsafe { self.0.owned().go_on_in_arena(arena, (key, layout), count) } {
                return Ok(at);
            }
        }
        let bytes = count * layout.bytes();
        // SAFETY: it is this mutator's and open, and the values fit.
        self.retry(arena, bytes, || unsafe { self.0.owned().reserve_in_arena(arena, (key, layout), count) })
    }

    /// A value of `bytes` bytes without pointers, whose memory is not zeroed; `align` is a power of two, at most 16. May
    /// collect.
    ///
    /// # Errors
    /// As [`reserve`](MutatorArenas::reserve).
    ///
    /// # Panics
    /// As there.
    ///
    /// # Safety
    /// 1. As there.
    #[cold]
    #[inline(never)]
    pub unsafe fn take_data(
        self,
        arena: &ArenaHeader,
        bytes: usize,
        align: usize,
    ) -> Result<usize, AllocError> {
        assert!(bytes <= MOST_IN_ARENA, "longer values live in the heap");
        self.check(arena)?;
        // SAFETY: it is this mutator's and open, and the value fits.
        self.retry(arena, bytes, || unsafe { self.0.owned().take_arena_data(arena, bytes, align) })
    }

    /// Calls `attempt`, which asks for room for `bytes` bytes in an open arena of this mutator's, as [`Mutator::retry`]
    /// does; if that fails, once more in the smallest chunk: there may be room for one when there is none for a larger.
    fn retry<R>(
        self,
        arena: &ArenaHeader,
        bytes: usize,
        attempt: impl Fn() -> Result<R, SpaceError>,
    ) -> Result<R, AllocError> {
        self.0.retry(bytes, &attempt).or_else(|refused| {
            if matches!(refused, AllocError::Misuse(_)) {
                return Err(refused);
            }
            let _no_preempt = self.0.record().no_preempt();
            // SAFETY: the arena is open, and this mutator's.
            let taken = unsafe { self.0.owned().take_least_chunk(arena, bytes) };
            taken.and_then(|()| attempt()).map_err(|_| refused)
        })
    }

    /// Frees all values of an arena, which stays open.
    ///
    /// # Errors
    /// The arena cannot be used here now.
    ///
    /// # Safety
    /// 1. `arena` came from [`open`](MutatorArenas::open) of this heap, and the heap is there.
    /// 2. No thread reads or writes its values any more. If it is a [borrowed](ArenaKind::Borrowed) arena, only ambiguous
    ///    words may still refer to them.
    pub unsafe fn empty(self, arena: &ArenaHeader) -> Result<(), AllocError> {
        // SAFETY: contracts 1 and 2.
        unsafe { self.end_values(arena, ArenaState::Open) }
    }

    /// Closes an arena: frees its values and ends it. Its handle is an error from now on.
    ///
    /// # Errors
    /// As [`empty`](MutatorArenas::empty).
    ///
    /// # Safety
    /// 1. As there.
    pub unsafe fn close(self, arena: &ArenaHeader) -> Result<(), AllocError> {
        // SAFETY: contract 1.
        unsafe { self.end_values(arena, ArenaState::Closed) }
    }

    /// Frees all values of an arena, whose state is `after` then.
    ///
    /// # Errors
    /// As [`empty`](MutatorArenas::empty).
    ///
    /// # Safety
    /// 1. As there.
    unsafe fn end_values(self, arena: &ArenaHeader, after: ArenaState) -> Result<(), AllocError> {
        self.check(arena)?;
        // SAFETY: contract 1.
        unsafe { self.empty_external(arena) };
        let _no_preempt = self.0.record().no_preempt();
        // SAFETY: contract 1; the region ends when the values are gone.
        unsafe { self.free_external(arena) };
        let chunks = self.chunks_after(arena);
        self.log_closing(arena, chunks);
        self.remember_new_values(arena, chunks);
        // SAFETY: contract 1; it is open, and this mutator's.
        unsafe { self.0.owned().end_arena(arena, chunks, after) };
        self.wake_for_free_chunks();
        Ok(())
    }

    /// Leaves an arena to the collector: it takes no more values, and is freed when nothing points into it any more. Its
    /// handle is an error from now on.
    ///
    /// # Errors
    /// As [`empty`](MutatorArenas::empty).
    ///
    /// # Safety
    /// 1. `arena` came from [`open`](MutatorArenas::open) of this heap, and the heap is there.
    pub unsafe fn leave(self, arena: &ArenaHeader) -> Result<(), AllocError> {
        self.check(arena)?;
        let _no_preempt = self.0.record().no_preempt();
        // SAFETY: contract 1; it is open, and this mutator's.
        unsafe { self.0.owned().leave_arena(arena) };
        Ok(())
    }

    /// The state of the chunks of an arena that is closed or emptied now.
    fn chunks_after(self, arena: &ArenaHeader) -> ArenaState {
        if self.0.barrier().is_concurrent_marking()
            && !self.0.shared().faults().fails(Fault::ArenaClosedAtOnce)
        {
            return ArenaState::Left;
        }
        match arena.kind() {
            ArenaKind::Borrowed | ArenaKind::Promised
                if !self.0.shared().space().arenas().are_protected() =>
            {
                ArenaState::Free
            }
            _ => ArenaState::Quarantined,
        }
    }

    /// A marking visits the old chunks that an arena left to the collector, though its handle no longer leads there. So
    /// their values since the last collection are remembered for a young one.
    fn remember_new_values(self, arena: &ArenaHeader, chunks: ArenaState) {
        if chunks == ArenaState::Left {
            self.0.barrier().remember_words(self.0.owned().unseen_in_arena(arena));
        }
    }

    fn log_closing(self, arena: &ArenaHeader, chunks: ArenaState) {
        if chunks != ArenaState::Free
            && let Some(log) = self.0.heap().arena_log()
        {
            log.closed(arena.number());
        }
    }

    /// Tells the heap's own thread that there may be memory that no arena needs.
    fn wake_for_free_chunks(self) {
        self.0.shared().wakeup().arena_closed();
    }

    /// The thread is detached: its open arenas are left to the collector. A young collection does not visit their values
    /// since the last collection, so the next collection is full, or promotes all.
    pub(crate) fn leave_all(self) {
        let owner = self.0.owned();
        owner.leave_all_arenas(|arena| {
            if let Some(log) = self.0.heap().arena_log() {
                log.leaked(self.0.shared().reports(), arena.number());
            }
        });
        if owner.forget_active_arenas() {
            self.0.shared().remembered().overflow();
        }
    }
}
