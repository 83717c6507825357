//! `Watched`: a global allocator for tests. It knows each block that is alive, so that verify mode can name one in which a program has
//! left a `Gc` that nothing else keeps. Alloy and Go's checkptr have the aim in common; the way is that of a leak checker's table.
//!
//! | file | content |
//! |---|---|
//! | `table` | the places that are searched: blocks, thread-local and static data |
//! | `thread_data` | which thread-local and static data there are |
//! | `search` | the search, in a pause, and its reports |
//!
//! Invariant: a block is in the table from before its caller knows of it until after its last use, and no stale word of an earlier block is in
//! it. Nothing here waits for a thread that a collection may have stopped, or uses the allocator that it watches.

pub(crate) mod search;
mod table;
pub(crate) mod thread_data;

use core::cell::Cell;
use core::hint::black_box;
use heapwood_os::diagnose::backtrace::callers;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::threads::stack::thread_id;
use std::alloc::{GlobalAlloc, Layout, System};
use table::{Kind, Place, Sites, Table};

/// Bytes before each block: the last word says where it is in the table.
const HEADER: usize = 16;

/// A `#[global_allocator]` for tests that finds lost [`Gc`](crate::Gc)s: those in a `Vec`, a `Box` or another block, in a thread-local
/// or a static, whose objects nothing else keeps.
///
/// ```
/// #[cfg(test)]
/// #[global_allocator]
/// static ALLOCATOR: heapwood::Watched = heapwood::Watched::new();
/// ```
///
/// In verify mode ([`Config::verify`](crate::Config::verify)) each collection then searches all blocks for the objects that it has found dead, names
/// the block, and ends the process. A program that keeps the contract of [`Heap::new`](crate::Heap::new) has no such block. What is
/// taken for a `Gc` without being one is a number that is an object's address, what a collection has left behind its end (a `Vec` that
/// was longer once), and words that a value does not use (an enum's variant without a payload).
/// Where that is meant, [`Watched::reporting`] goes on after the report.
///
/// Blocks begin as zeros, and are overwritten with zeros when they are freed. Each takes 16 bytes more, and 32 in the table; freeing one
/// twice ends the process. It takes no lock.
#[derive(Clone, Copy, Debug)]
pub struct Watched<A = System> {
    allocator: A,
    sites: bool,
    reporting: bool,
}

impl Watched {
    /// Watches the system's allocator.
    pub const fn new() -> Self {
        Watched::over(System)
    }
}

impl Default for Watched {
    fn default() -> Self {
        Watched::new()
    }
}

impl<A> Watched<A> {
    /// Watches another allocator.
    pub const fn over(allocator: A) -> Self {
        Watched { allocator, sites: false, reporting: false }
    }

    /// Goes on after a report, unless the option `verify_stops` ends the process.
    #[must_use]
    pub const fn reporting(mut self) -> Self {
        self.reporting = true;
        self
    }

    /// Notes for each block where it was made: the callers as addresses, which reports write as a file and an offset (`addr2line -f -e
    /// FILE OFFSET` knows the function and the line). An allocation then takes microseconds.
    #[must_use]
    pub const fn with_sites(mut self) -> Self {
        self.sites = true;
        self
    }
}

thread_local! {
    // Neither has a destructor, so both can be used until the thread has ended.
    static THREAD: Cell<u32> = const { Cell::new(0) };
    static LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// The kernel's number of the calling thread, which a forked child inherits.
fn this_thread() -> u32 {
    THREAD.with(|thread| {
        if thread.get() == 0 {
            thread.set(thread_id());
        }
        thread.get()
    })
}

impl<A: GlobalAlloc> Watched<A> {
    /// The place of a block in the allocator's memory: how many bytes before it, and all bytes.
    fn outer(layout: Layout) -> Option<(usize, Layout)> {
        let before = layout.align().max(HEADER);
        let bytes = layout.size().checked_add(before)?;
        Some((before, Layout::from_size_align(bytes, before).ok()?))
    }

    /// The callers of the allocation, if they are noted. The unwinder may allocate when it is first used.
    fn sites(&self) -> Sites {
        if !self.sites || LOOKING.replace(true) {
            return Sites::default();
        }
        let sites = callers();
        LOOKING.set(false);
        sites
    }
}

// SAFETY: a block is a part of one of the inner allocator's, of the alignment and size that were asked for.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Watched<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((before, outer)) = Self::outer(layout) else { return core::ptr::null_mut() };
        // SAFETY: it has at least the header's bytes.
        let start = unsafe { self.allocator.alloc_zeroed(outer) };
        if start.is_null() {
            return start;
        }
        // SAFETY: the block lies behind the header, in what was allocated.
        let block = unsafe { start.add(before) };
        let place = Place {
            start: block as usize,
            bytes: layout.size(),
            align: layout.align(),
            thread: this_thread(),
            kind: Kind::Block,
        };
        let number = Table::get_or_make(!self.reporting).map_or(0, |table| table.add(place, self.sites()));
        // SAFETY: the header is a block's own, and aligned for a word.
        unsafe { block.cast::<usize>().sub(1).write(number) };
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises; all blocks begin as zeros.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some((before, outer)) = Self::outer(layout) else { return };
        // SAFETY: `alloc` has written it.
        let number = unsafe { block.cast::<usize>().sub(1).read() };
        if number != 0 && !Table::get().is_some_and(|table| table.remove(number, block as usize)) {
            corrupt(format_args!(
                "the block at {:#x} ({} bytes) is freed, but is none, or was freed before",
                block as usize,
                layout.size()
            ));
        }
        // SAFETY: nobody uses the block any more, and the inner allocator made what it is a part of.
        unsafe {
            // The zeros are written, though nobody is to read them.
            black_box(block).write_bytes(0, layout.size());
            black_box(block);
            self.allocator.dealloc(block.sub(before), outer);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let Ok(new_layout) = Layout::from_size_align(bytes, layout.align()) else {
            return core::ptr::null_mut();
        };
        // SAFETY: the caller promises that the size is not zero; both blocks have room for the smaller size.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
            new
        }
    }
}
