//! The search of all places for lost pointers, in a pause of verify mode, and its reports. A block that is aligned to words is searched
//! word by word. In others a `Gc` may lie anywhere, in a packed struct, so they are searched byte by byte.
//! Invariant: it allocates nothing, and waits for nobody. Blocks are read directly, since none is freed while it is read; other data may be
//! unmapped at any moment, and the kernel copies them.

use super::table::{Kind, Place, Table};
use super::thread_data;
use crate::words::first_in;
use core::fmt;
use core::ops::Range;
use heapwood_gc::{DeadObject, DeadObjects, Heap, OutsideMemory};
use heapwood_os::Peek;
use heapwood_os::diagnose::backtrace::CodeLocation;
use heapwood_os::diagnose::task::{describe_name, exists};

/// The most reports of one collection.
const MOST_REPORTS: usize = 10;
const WORD: usize = size_of::<usize>();

struct Search;

// SAFETY: it takes no lock, allocates nothing, and uses no heap.
unsafe impl OutsideMemory for Search {
    fn search(&self, dead: &DeadObjects<'_>) {
        let Some(table) = Table::get() else { return };
        let mut reports = 0;
        table.for_each(|number, place| {
            let mut lost = Lost::default();
            match place.kind {
                Kind::Block => search_block(dead, &place, &mut lost),
                Kind::ThreadData | Kind::Static => search_data(dead, &place, &mut lost),
            }
            let Some((at, first)) = &lost.first else { return };
            if dead.has_roots(&(place.start..place.start + place.bytes))
                || place.kind == Kind::ThreadData && !exists(place.thread)
            {
                return;
            }
            reports += 1;
            if reports <= MOST_REPORTS {
                dead.say(format_args!(
                    "{} holds {} to objects that nothing else keeps, the first, at byte {at}, to {first}: keep them by a Root, a \
                     RootVec, a variable on the stack or an object of the heap, or use the allocator Scanned",
                    Named(table, number, &place, *at),
                    Pointers(lost.pointers),
                ));
            }
        });
        if reports != 0 && table.ends {
            dead.end(format_args!(
                "memory outside the heap holds the last pointers to objects that are gone now, in {reports} places that were told; \
                 `Watched::reporting` would go on"
            ));
        }
    }
}

/// Has the collections of a heap that verifies search all places, if a watched allocator is used.
pub(crate) fn search_for(heap: &Heap) {
    static SEARCH: &dyn OutsideMemory = &Search;
    if let Some(table) = Table::get().filter(|_| heap.config().verify) {
        if !heap.config().library_roots {
            thread_data::note_libraries(table);
        }
        heap.search_outside(&SEARCH);
    }
}

/// What was found in a place.
#[derive(Default)]
struct Lost<'p> {
    pointers: usize,
    /// The first, with its place.
    first: Option<(usize, DeadObject<'p>)>,
}

impl<'p> Lost<'p> {
    /// Looks at words of a place, from a byte of it on.
    ///
    /// # Safety
    /// 1. The memory is readable.
    unsafe fn look(&mut self, dead: &DeadObjects<'p>, mut memory: Range<usize>, step: usize, from: usize) {
        let (start, wanted) = (memory.start, dead.range());
        // SAFETY: contract 1.
        while let Some(at) = unsafe { first_in(memory.clone(), step, &wanted) } {
            // SAFETY: as above; it may have changed meanwhile.
            let word = unsafe { (at as *const usize).read_unaligned() };
            if let Some(object) = dead.find(word) {
                self.pointers += 1;
                self.first.get_or_insert((from + (at - start), object));
            }
            memory.start = at + step;
        }
    }
}

fn search_block<'p>(dead: &DeadObjects<'p>, place: &Place, lost: &mut Lost<'p>) {
    let step = if place.align < WORD { 1 } else { WORD };
    // SAFETY: the block is not freed while it is read.
    unsafe { lost.look(dead, place.start..place.start + place.bytes, step, 0) };
}

fn search_data<'p>(dead: &DeadObjects<'p>, place: &Place, lost: &mut Lost<'p>) {
    let peek = Peek::new();
    let mut buffer = [0usize; 512];
    for from in (0..place.bytes).step_by(size_of_val(&buffer)) {
        let bytes = (place.bytes - from).min(size_of_val(&buffer));
        let start = buffer.as_mut_ptr();
        // SAFETY: the buffer's bytes, as bytes.
        let into = unsafe { core::slice::from_raw_parts_mut(start.cast::<u8>(), bytes) };
        let read = peek.read(place.start + from, into).unwrap_or(0);
        // SAFETY: the buffer has as many bytes.
        unsafe { lost.look(dead, start as usize..start as usize + read, WORD, from) };
    }
}

/// Their number in words.
struct Pointers(usize);

impl fmt::Display for Pointers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("a pointer"),
            many => write!(f, "{many} pointers"),
        }
    }
}

/// A place in words, and a byte of it that was found.
struct Named<'t>(&'t Table, usize, &'t Place, usize);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(table, number, place, at) = *self;
        match place.kind {
            Kind::Block => {
                write!(f, "a block of {} bytes at {:#x}, made by ", place.bytes, place.start)?;
                describe_name(place.thread, f)?;
                for (i, &site) in table.sites(number).iter().filter(|&&site| site != 0).enumerate() {
                    write!(f, "{}{}", if i == 0 { " at " } else { ", " }, CodeLocation::of(site))?;
                }
                Ok(())
            }
            Kind::ThreadData => {
                f.write_str("the thread-local data of ")?;
                describe_name(place.thread, f)?;
                write!(f, " at {:#x}", place.start)
            }
            Kind::Static => write!(f, "the static variable at {}", CodeLocation::of(place.start + at)),
        }
    }
}
