//! The marking loop. An edge (the address of an object) taken from the stack is not followed at once: its mark
//! bits and the object are prefetched and it waits in a short ring while older edges are followed. So each object
//! costs one cache miss that overlaps with others, as in Cher, Hosking and Vitek, "Software Prefetching for
//! Mark-Sweep Garbage Collection" (2004); the edges rather than the objects are queued.

use super::stack::MarkStacks;
use heapwood_heap::marks;
use heapwood_heap::page_table::PageEntry;
use heapwood_heap::{ScanKind, Shape, Space, prefetch};
use heapwood_os::{MappedArray, Touched};
use heapwood_pages::PAGE_SIZE;

/// How many edges wait for their memory. 32 was the best of 16, 32 and 64 (docs/METADATA.md).
pub(crate) const RING: usize = 32;
/// The most edges that an object scanned in the loop itself can have.
const LOOP_PUSHES: usize = 64;

/// One marking under way. The heap is stopped as long as it exists.
pub struct Marker<'h> {
    pub(crate) space: &'h Space,
    pub(crate) marks: marks::Marker,
    pub(crate) base: usize,
    pub(crate) extent: usize,
    entries: *const PageEntry,
    shapes: *const Shape,
    pub(crate) stacks: &'h mut MarkStacks,
    /// Which pages were ever written.
    pub(crate) touched: &'h Touched,
    pub(crate) overflow: &'h MappedArray<u64>,
    /// Words of the overflow table that there are.
    pub(crate) overflow_words: usize,
    /// Spans without a bit in the table have been flagged: all of them.
    pub(crate) overflow_beyond: bool,
    pub(crate) overflowed: bool,
    /// How often a stack was full.
    pub(crate) overflows: u64,
    /// Bytes of what was marked, in cells and pages.
    pub(crate) live_bytes: usize,
    pub(crate) live_objects: usize,
    /// In verify mode: told of every object that an ambiguous word of a stack keeps alive.
    pub(crate) on_stack: Option<&'h dyn Fn(usize)>,
    #[cfg(feature = "plant")]
    pub(crate) plant: Option<&'h crate::plant::Plant>,
}

impl<'h> Marker<'h> {
    /// A marker for a space that is stopped, flushed and swept.
    pub(crate) fn new(
        space: &'h Space,
        stacks: &'h mut MarkStacks,
        touched: &'h Touched,
        (overflow, overflow_words): (&'h MappedArray<u64>, usize),
    ) -> Self {
        Marker {
            space,
            marks: space.marks().marker(),
            base: space.base(),
            extent: space.extent(),
            entries: space.page_table().as_ptr(),
            shapes: space.shapes(),
            stacks,
            touched,
            overflow,
            overflow_words,
            overflow_beyond: false,
            overflowed: false,
            overflows: 0,
            live_bytes: 0,
            live_objects: 0,
            on_stack: None,
            #[cfg(feature = "plant")]
            plant: None,
        }
    }

    #[inline(always)]
    pub(crate) fn entry(&self, addr: usize) -> PageEntry {
        // SAFETY: edges lie inside the extent, whose entries are committed.
        unsafe { *self.entries.add((addr - self.base) / PAGE_SIZE) }
    }

    #[inline(always)]
    pub(crate) fn shape(&self, entry: PageEntry) -> &'h Shape {
        // SAFETY: the entry of a span holds the number of a registered shape, and shapes live with the space.
        unsafe { &*self.shapes.add(entry.shape().index()) }
    }

    /// Adds the edge to the object at `addr`, if that is inside the heap: null and foreign pointers are ignored.
    #[inline(always)]
    pub(crate) fn push(&mut self, addr: usize) {
        #[cfg(feature = "plant")]
        if addr.wrapping_sub(self.base) < self.extent
            && self.plant.is_some_and(|p| p.strikes(crate::plant::Planted::LoseMark))
        {
            return;
        }
        if addr.wrapping_sub(self.base) < self.extent && !self.stacks.edges.push(addr) {
            self.edge_overflow(addr);
        }
    }

    /// Follows edges until none is left.
    pub(crate) fn drain(&mut self) {
        loop {
            self.follow_all();
            if !self.overflowed {
                return;
            }
            self.rescan_overflowed();
        }
    }

    pub(crate) fn follow_all(&mut self) {
        // What every object needs lives in locals: the compiler cannot keep fields in registers across the stores
        // to mark bits and stack.
        let (marks, base, extent) = (self.marks, self.base, self.extent);
        let (entries, shapes) = (self.entries, self.shapes);
        if extent == 0 {
            // A heap that has never grown has no edges, and no first page either.
            return;
        }
        // An empty place in the ring holds the heap's base, where no object is; it counts as marked already.
        // SAFETY: the first page is committed and never used, and one thread marks.
        unsafe { marks.set(base) };
        let entry_of = |edge: usize| {
            // SAFETY: edges lie inside the extent, whose entries are committed.
            unsafe { *entries.add((edge - base) / PAGE_SIZE) }
        };
        let nothing = (base, entry_of(base));
        let mut ring = [nothing; RING];
        let (mut at, mut pairs) = (0, 0);
        let bottom = self.stacks.edges.bottom();
        let roomy = self.stacks.edges.room_for(LOOP_PUSHES);
        let mut top = self.stacks.edges.top();
        let mut waiting = 0;
        #[cfg(feature = "plant")]
        let plant = self.plant;
        loop {
            let next = if top != bottom {
                // SAFETY: entries between bottom and top were written by pushes.
                let edge = unsafe {
                    top = top.sub(1);
                    top.read()
                };
                let entry = entry_of(edge);
                marks.prefetch(edge);
                // What has no pointers is marked without being touched.
                if !entry.is(ScanKind::NoPointers) {
                    prefetch::for_read(edge as *const u8);
                }
                waiting = RING;
                (edge, entry)
            } else {
                self.stacks.edges.set_top(top);
                let more = self.next_range();
                top = self.stacks.edges.top();
                if more {
                    continue;
                }
                // Nothing new: the ring runs empty.
                if waiting == 0 {
                    break;
                }
                waiting -= 1;
                nothing
            };
            let (edge, entry) = core::mem::replace(&mut ring[at % RING], next);
            at += 1;
            // SAFETY: edges are bases of objects (precise slots by the clients' contract, ambiguous words after
            // look-up), and one thread marks.
            if !unsafe { marks.set(edge) } {
                continue;
            }
            // Written whether or not it is an edge, kept only if it is: leaves are as common as inner nodes, and a
            // branch on null would be guessed wrong every other time.
            let push = |top: &mut *mut usize, word: usize| {
                // SAFETY: `roomy` leaves space for all that this object can push; the word is one of the object's.
                unsafe {
                    let target = (word as *const usize).read();
                    top.write(target);
                    let edge = target.wrapping_sub(base) < extent;
                    #[cfg(feature = "plant")]
                    let edge = edge && !plant.is_some_and(|p| p.strikes(crate::plant::Planted::LoseMark));
                    *top = top.add(edge as usize);
                }
            };
            if entry.is(ScanKind::Pair) && top < roomy {
                pairs += 1;
                push(&mut top, edge);
                push(&mut top, edge + 8);
            } else if entry.is(ScanKind::NoPointers) {
                // SAFETY: the entry of a span holds the number of a registered shape.
                self.count(edge, unsafe { &*shapes.add(entry.shape().index()) });
            } else if entry.is(ScanKind::Mask) && top < roomy {
                // SAFETY: the entry of a span holds the number of a registered shape.
                let shape = unsafe { &*shapes.add(entry.shape().index()) };
                self.count(edge, shape);
                let mut mask = shape.mask[0];
                while mask != 0 {
                    push(&mut top, edge + 8 * mask.trailing_zeros() as usize);
                    mask &= mask - 1;
                }
            } else {
                self.stacks.edges.set_top(top);
                self.visit_marked(edge, entry);
                top = self.stacks.edges.top();
            }
        }
        // SAFETY: as above.
        unsafe { marks.unset(base) };
        self.live_objects += pairs;
        self.live_bytes += pairs * 16;
    }
}
