//! `Scanned`: a global allocator whose blocks the collector scans, so that a `Gc` may lie in a `Vec`, a `Box` or a closure. (Alloy does so
//! with a compiler of its own, and libgc with malloc.)
//!
//! | file | content |
//! |---|---|
//! | `size` | where a layout's block lies: its size class, whether it is scanned |
//! | `threads` | the allocation buffers of each thread |
//! | `magazine` | what a thread has freed last |
//! | `depot` | what threads have freed and do not keep, for all |
//! | `blocks` | the blocks' space, allocating and freeing |
//! | `roots` | the root function of heaps that are collected |
//! | `thread_roots` | thread-local data |
//! | `fork` | forks |
//!
//! The space is the process's, and each thread finds its buffers by a thread-local variable, since Rust has one global allocator. No crate
//! below knows of it: to them it is a space without a collector, and a function that names roots.
//!
//! Invariants: a block is the space's or the system's by its address. On the way down nothing uses the global allocator, and if it
//! does all the same, as a panic would, the system serves it.

mod blocks;
mod depot;
mod fork;
mod magazine;
pub(crate) mod roots;
mod size;
pub(crate) mod thread_roots;
mod threads;

use blocks::Blocks;
use core::ptr::null_mut;
use heapwood_heap::{MAX_SMALL, publication};
use size::{Place, Usual};
use std::alloc::{GlobalAlloc, Layout, System};
use threads::Set;

/// A `#[global_allocator]` that has Heapwood's collections scan all blocks, so that a [`Gc`](crate::Gc), or a reference into an object, may be
/// kept in them: in a `Vec`, a `Box`, a `HashMap`, a closure.
///
/// ```standalone_crate
/// #[global_allocator]
/// static ALLOCATOR: heapwood::Scanned = heapwood::Scanned::new();
/// # use heapwood::{Config, Heap};
/// // SAFETY: the rules that are left, see `Heap::new`.
/// let heap = unsafe { Heap::new(Config::default()) }?;
/// let m = heap.attach()?;
/// let numbers: Vec<_> = (0..1000).map(|i| m.alloc(i)).collect();
/// m.collect();
/// assert!(numbers.iter().enumerate().all(|(i, number)| **number == i));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// It is for heaps made by [`Heap::new`](crate::Heap::new), whose contract says what must hold still. Each collection, young ones
/// too, scans each block that is aligned to words: so large tables cost time there. Blocks of a smaller alignment (text, bytes) are
/// never scanned. A cycle through a block is never freed: an object that owns a `Vec`, by a finaliser, with a `Gc` to itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scanned(());

impl Scanned {
    /// The allocator; all are one.
    pub const fn new() -> Self {
        Scanned(())
    }
}

/// Whether there are blocks.
pub(crate) fn is_used() -> bool {
    Blocks::get().is_some()
}

/// A block of the usual kind that the thread has freed lately.
#[inline(always)]
fn freed_lately(usual: Usual) -> Option<*mut u8> {
    Set::idle()?.magazine_of(usual.kind()).pop()
}

/// Frees a block of the usual kind by keeping it for the thread; false if there is no room.
///
/// # Safety
/// 1. It is a block of the space, of this kind, and nobody uses it any more.
#[inline(always)]
unsafe fn keep_for_later(usual: Usual, block: *mut u8) -> bool {
    publication::observe();
    // SAFETY: contract 1.
    Set::idle().is_some_and(|set| unsafe { set.magazine_of(usual.kind()).push_usual(usual, block) })
}

/// A block of the space, if that has one of this layout for this thread.
#[inline(never)]
fn allocate(layout: Layout, zeroed: bool) -> Option<*mut u8> {
    let place = Place::of(layout)?;
    Blocks::get_or_make(fork::register)?.allocate(place, zeroed)
}

/// Whether blocks of two layouts have the same room.
#[inline(never)]
fn same_room(layout: Layout, new: Layout) -> bool {
    match (Place::of(layout), Place::of(new)) {
        (Some(has), Some(wants)) => has.has_room_of(wants),
        _ => false,
    }
}

/// A copy of a block's first bytes in a large block of the space; none if a block of this layout is no such one.
///
/// # Safety
/// 1. The block and the layout have so many bytes, and nobody writes them meanwhile.
#[inline(never)]
unsafe fn copy_to_large(block: *mut u8, bytes: usize, layout: Layout) -> Option<*mut u8> {
    let place = Place::of(layout).filter(|place| place.is_large)?;
    // SAFETY: contract 1.
    unsafe { Blocks::get()?.copy_to_large(place, block, bytes) }
}

// SAFETY: blocks come from `Blocks` or the system, each of the layout that was asked for, and go back to where they came from.
unsafe impl GlobalAlloc for Scanned {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(block) = Usual::of(layout).and_then(freed_lately) {
            return block;
        }
        match allocate(layout, false) {
            Some(block) => block,
            // SAFETY: as the caller promises.
            None => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Scanned cells are zeros.
        if let Some(block) = Usual::of(layout).filter(|usual| usual.is_scanned).and_then(freed_lately) {
            return block;
        }
        match allocate(layout, true) {
            Some(block) => block,
            // SAFETY: as the caller promises.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Blocks::holding(block as usize) {
            // SAFETY: it is the space's, of this layout, and the caller uses it no more.
            Some(blocks) => unsafe {
                if !Usual::of(layout).is_some_and(|usual| keep_for_later(usual, block)) {
                    blocks.free(block, layout);
                }
            },
            // SAFETY: as the caller promises; what is not the space's is the system's.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let Ok(new) = Layout::from_size_align(bytes, layout.align()) else { return null_mut() };
        if Blocks::holding(block as usize).is_some() {
            // The same room, if that is not much too large for it.
            let same = match (Usual::of(layout), Usual::of(new)) {
                (Some(has), Some(wants)) => has.kind() == wants.kind(),
                (None, None) => same_room(layout, new),
                _ => false,
            };
            if same {
                return block;
            }
        } else if Place::of(new).is_none() {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(block, layout, bytes) };
        }
        let kept = layout.size().min(bytes);
        // SAFETY: both blocks have room for the smaller size, and the old one is used no more.
        unsafe {
            // Smaller ones are large for their alignment only.
            let other = if bytes > MAX_SMALL { copy_to_large(block, kept, new) } else { None };
            let other = other.unwrap_or_else(|| {
                let other = self.alloc(new);
                if !other.is_null() {
                    other.copy_from_nonoverlapping(block, kept);
                }
                other
            });
            if !other.is_null() {
                self.dealloc(block, layout);
            }
            other
        }
    }
}
