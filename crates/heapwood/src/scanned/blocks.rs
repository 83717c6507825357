//! The blocks: objects of a space of the process that is never collected. They are allocated as a heap's objects are and freed as
//! `Mutator::free` frees one, and each is alive until then. Invariant: the space is made once and never given back, and no thread stops in
//! it for a collection but by a signal; then it may hold a lock of the space, for which others wait until the collection has ended.

use super::depot::Depot;
use super::size::Place;
use super::threads::{Set, Threads};
use core::alloc::Layout;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use heapwood_heap::{Address, Space, SpaceConfig, publication};
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::{MappedBox, OsError, SYSTEM};
use std::cell::Cell;

/// Addresses for blocks: tried first, and halved while the system refuses them.
const RESERVATION: usize = 1 << 38;
const LEAST_RESERVATION: usize = 1 << 28;

/// The blocks of the process.
pub(super) struct Blocks {
    space: Space,
    threads: Threads,
    depot: Depot,
}

static BLOCKS: AtomicPtr<Blocks> = AtomicPtr::new(null_mut());

thread_local! {
    static MAKING: Cell<bool> = const { Cell::new(false) };
}

impl Blocks {
    fn new() -> Result<Self, OsError> {
        let mut reservation = RESERVATION;
        let space = loop {
            let config = SpaceConfig {
                reservation,
                most: None,
                limit: None,
                huge_pages: false,
                clobber: false,
                protect_arenas: None,
                single_cells: false,
            };
            match Space::new(&SYSTEM, config) {
                Err(_) if reservation > LEAST_RESERVATION => reservation /= 2,
                done => break done?,
            }
        };
        // No collection is ever due.
        space.switch_collections_off();
        Ok(Blocks { space, threads: Threads::new()?, depot: Depot::new()? })
    }

    /// Those of the process, if there are any.
    #[inline(always)]
    pub(super) fn get() -> Option<&'static Blocks> {
        // SAFETY: they are never given back.
        unsafe { BLOCKS.load(Ordering::Acquire).as_ref() }
    }

    /// The same, made by the first who asks, which calls `once` then.
    #[inline(always)]
    pub(super) fn get_or_make(once: fn()) -> Option<&'static Blocks> {
        Blocks::get().or_else(|| Blocks::make(once))
    }

    #[cold]
    fn make(once: fn()) -> Option<&'static Blocks> {
        if MAKING.replace(true) {
            return None;
        }
        let made = Blocks::new().and_then(|made| MappedBox::new(&SYSTEM, made));
        // Without them a `Gc` would lie where nobody looks.
        let mine = made
            .unwrap_or_else(|error| corrupt(format_args!("no addresses for the blocks of Scanned: {error}")));
        let mine = mine.into_raw();
        match BLOCKS.compare_exchange(null_mut(), mine.as_ptr(), Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => once(),
            // SAFETY: it came from a box just now, and nobody has seen it.
            Err(_) => drop(unsafe { MappedBox::from_raw(mine) }),
        }
        MAKING.set(false);
        Blocks::get()
    }

    /// Those that hold an address.
    #[inline(always)]
    pub(super) fn holding(address: usize) -> Option<&'static Blocks> {
        Blocks::get().filter(|blocks| blocks.space.contains(Address::new(address)))
    }

    pub(super) fn space(&self) -> &Space {
        &self.space
    }

    /// Allocates a block; null if there is no memory. Its words are zeros if it is scanned, or on request. None: the system is to serve
    /// it, since the thread is in the allocator already, or there are too many threads.
    #[inline]
    pub(super) fn allocate(&self, place: Place, zeroed: bool) -> Option<*mut u8> {
        self.threads.with(|set| {
            if !place.is_large
                && let Some(cell) = self.freed_before(set, place)
            {
                if zeroed && !place.is_scanned {
                    // SAFETY: a cell of so many bytes that nobody uses.
                    unsafe { cell.write_bytes(0, place.bytes) };
                }
                return Some(cell);
            }
            // SAFETY: it is this thread's set, and used with this space only.
            let owner = unsafe { set.owner(&self.space) };
            if place.is_large {
                let taken = owner.take_large(place.shape, place.bytes, zeroed || place.is_scanned);
                return Some(taken.map_or(null_mut(), |large| {
                    large.zero();
                    large.finish().as_ptr()
                }));
            }
            let buffer = owner.buffer(place.shape);
            let cell = match buffer.peek(place.bytes) {
                Some(cell) => cell,
                None => {
                    if !owner.continue_run(place.shape, false) && owner.refill(place.shape, false).is_err() {
                        return Some(null_mut());
                    }
                    buffer.peek(place.bytes)?
                }
            };
            // SAFETY: `peek` has just returned it, and it is zero where it is scanned.
            unsafe {
                if zeroed && !place.is_scanned {
                    cell.write_bytes(0, place.bytes);
                }
                buffer.commit(cell, place.bytes);
            }
            Some(cell.as_ptr())
        })
    }

    /// A copy of a block's first bytes in a large block; otherwise as [`Blocks::allocate`], which would zero what the copy overwrites.
    ///
    /// # Safety
    /// 1. The block has so many bytes, as has the place, which is large; nobody writes them meanwhile.
    pub(super) unsafe fn copy_to_large(&self, place: Place, block: *mut u8, bytes: usize) -> Option<*mut u8> {
        self.threads.with(|set| {
            // SAFETY: it is this thread's set.
            let owner = unsafe { set.owner(&self.space) };
            let taken = owner.take_large(place.shape, place.bytes, place.is_scanned);
            Some(taken.map_or(null_mut(), |large| {
                // SAFETY: contract 1. A stop in between finds the words in the block that they come from.
                unsafe { large.zero_behind(block, bytes) };
                large.finish().as_ptr()
            }))
        })
    }

    /// A cell that was freed, by this thread or another.
    #[inline]
    fn freed_before(&self, set: &Set, place: Place) -> Option<*mut u8> {
        let magazine = set.magazine(place);
        magazine.pop().or_else(|| {
            let is_filled = place.may_be_boxed() && magazine.fill(|cells| self.depot.take(place.kind, cells));
            if is_filled { magazine.pop() } else { None }
        })
    }

    /// Frees a block.
    ///
    /// # Safety
    /// 1. It is a block of these, of this layout, and nobody uses it any more.
    #[inline(never)]
    pub(super) unsafe fn free(&self, block: *mut u8, layout: Layout) {
        publication::observe();
        // Without a set, on a thread that is the last of too many, or inside the allocator itself, the block stays.
        let _ = self.threads.with(|set| {
            // SAFETY: it is this thread's set.
            let owner = unsafe { set.owner(&self.space) };
            let free = |block: *mut u8| {
                // SAFETY: contract 1; there may be other threads.
                if let Err(error) = unsafe { owner.free(Address::from(block), false) } {
                    corrupt(format_args!("a block is freed that is none: {error}"));
                }
            };
            match Place::of(layout).filter(|place| !place.is_large) {
                // SAFETY: contract 1.
                Some(place) => unsafe {
                    set.magazine(place).push(place, block, |cells| {
                        if !place.may_be_boxed() || !self.depot.put(place.kind, cells) {
                            cells.iter().for_each(|cell| free(cell.get() as *mut u8));
                        }
                    });
                },
                None => free(block),
            }
            Some(())
        });
    }
}
