//! The edges of an object. The commonest layouts have loops of their own. Large objects are scanned in slices, so that
//! one array does not fill the stack (Go's oblets). Invariant: a scanned object is marked, and all its edges are
//! pushed, or wait as a range, or its span is in the rescan set.

use super::bits::MarkBits;
use super::mode::{Mode, Scope};
use super::queue::Marker;
use super::stack::Range;
use crate::inject::Fault;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{Address, GRANULE, ObjectRef, PageEntry, ScanKind, Shape, Span};
use heapwood_os::diagnose::message::corrupt;
use heapwood_pages::{PAGE_SIZE, PageIndex};

pub(super) use heapwood_layout::WORD;
/// Words scanned at once; longer objects wait on the range stack.
pub(super) const SLICE_WORDS: usize = 512;
/// Stands for the shape of a range outside the heap: each of its words is a pointer slot.
const SLOTS: u32 = u32::MAX;
/// Stands for the shape of a range of an arena chunk, whose pointer slots have bits.
const CHUNK_BITS: u32 = u32::MAX - 1;
/// From this many bytes on, the marker asks the kernel which pages of a range were ever written.
const SPARSE: usize = 4 << 20;

impl<'h, M: Mode> Marker<'h, M> {
    /// Counts an object that was just marked and finds its edges.
    #[inline(never)]
    pub(super) fn visit_marked(&mut self, addr: usize, entry: PageEntry) {
        if entry.kind().is_none() {
            self.no_object(addr);
        }
        // Arena memory does not count as live: no collection frees it.
        if !entry.is(ScanKind::Arena) {
            self.count(addr, self.shape(entry));
        }
        self.scan(addr, entry);
    }

    /// Scans an arena chunk that an edge leads to, by its first byte or into it, and pushes the arena's next chunk: the
    /// chunks of an arena are marked together.
    fn visit_chunk(&mut self, addr: usize) {
        let Some(chunk) =
            self.space.arenas().find_chunk(Address::new(addr)).filter(|chunk| chunk.is_in_use())
        else {
            return;
        };
        let start = chunk.start();
        // An address in the first granule shares the chunk's mark.
        if addr - start >= GRANULE {
            chunk.note_inside();
            return self.push(start);
        }
        self.push(self.base + chunk.next().byte_offset());
        self.scan_chunk_part(start..chunk.frontier(), start);
    }

    /// Scans part of a chunk that is marked, or will be.
    pub(super) fn scan_chunk_part(&mut self, part: core::ops::Range<usize>, chunk: usize) {
        let range = Range { next: part.start, end: part.end, shape: CHUNK_BITS, dense: true };
        self.scan_range(range, chunk);
    }

    /// Follows a pointer from an arena. Most lead into the same arena, which is marked.
    fn push_from_arena(&mut self, value: usize) {
        if value.wrapping_sub(self.base) >= self.committed_end {
            return;
        }
        if !self.entry(value).is(ScanKind::Arena) {
            return self.push(value);
        }
        let Some(chunk) =
            self.space.arenas().find_chunk(Address::new(value)).filter(|chunk| chunk.is_in_use())
        else {
            return;
        };
        // SAFETY: a chunk lies in the heap, whose bits are committed.
        if !unsafe { M::Bits::is_set(self.marks, chunk.start()) } {
            self.push(chunk.start());
        }
    }

    /// Ends the process: a precise slot holds an address without a span.
    #[cold]
    pub(super) fn no_object(&self, addr: usize) -> ! {
        corrupt(format_args!(
            "a pointer slot holds {addr:#x}, which is inside the heap but no object: was it stored or kept past the \
             object's life?"
        ))
    }

    /// Counts an object that was just marked.
    #[inline(always)]
    pub(super) fn count(&mut self, addr: usize, shape: &Shape) {
        self.live_objects += 1;
        self.live_bytes += match shape.cell_size as usize {
            0 => self.large_bytes(addr),
            cell => cell,
        };
    }

    /// The span of the object at `addr`.
    pub(super) fn span_of(&self, addr: usize) -> &Span {
        let first = (addr - self.base) / PAGE_SIZE - self.entry(addr).back().0;
        self.space.span(PageIndex(first))
    }

    /// Finds the edges of an object that is already marked.
    pub(super) fn scan(&mut self, addr: usize, entry: PageEntry) {
        match entry.kind() {
            Some(ScanKind::NoPointers) | None => {}
            Some(ScanKind::Pair) => self.scan_pair(addr),
            Some(ScanKind::Mask) => self.scan_mask(addr, self.shape(entry).mask[0]),
            Some(kind) => self.scan_rare(addr, kind, entry),
        }
    }

    #[inline(always)]
    pub(super) fn word(addr: usize) -> usize {
        // SAFETY: the word lies in an object; slots are aligned words. Beside the program, mutators store into them by
        // relaxed stores at least.
        unsafe { AtomicUsize::from_ptr(addr as *mut usize) }.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn scan_pair(&mut self, addr: usize) {
        let (first, second) = (Self::word(addr), Self::word(addr + WORD));
        self.push(first);
        self.push(second);
    }

    #[inline(always)]
    pub(super) fn scan_mask(&mut self, addr: usize, mut mask: u64) {
        while mask != 0 {
            let word = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            self.push(Self::word(addr + word * WORD));
        }
    }

    /// Follows words that may be pointers.
    fn scan_ambiguous_mask(&mut self, addr: usize, mut mask: u64) {
        while mask != 0 {
            let word = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            self.push_word(Self::word(addr + word * WORD));
        }
    }

    #[cold]
    pub(super) fn large_bytes(&self, addr: usize) -> usize {
        self.span_of(addr).pages().0 * PAGE_SIZE
    }

    fn bytes_of(&self, addr: usize, entry: PageEntry) -> usize {
        match self.shape(entry).cell_size as usize {
            0 => self.span_of(addr).object_bytes(),
            cell => cell,
        }
    }

    #[inline(never)]
    fn scan_rare(&mut self, addr: usize, kind: ScanKind, entry: PageEntry) {
        let shape = self.shape(entry);
        let end = addr + self.bytes_of(addr, entry) / WORD * WORD;
        match kind {
            ScanKind::WideMask => {
                for (chunk, &mask) in shape.mask.iter().enumerate() {
                    self.scan_mask(addr + chunk * 64 * WORD, mask);
                }
            }
            ScanKind::Program if shape.cell_size != 0 => {
                self.scan_small_program(addr + shape.header as usize * WORD, end, shape);
            }
            ScanKind::Slice | ScanKind::Program => {
                let first = addr + shape.header as usize * WORD;
                self.scan_range(
                    Range { next: first, end, shape: entry.shape().index() as u32, dense: false },
                    addr,
                );
            }
            ScanKind::Conservative => {
                self.scan_range(Range { next: addr, end, shape: 0, dense: false }, addr)
            }
            ScanKind::AmbiguousMask => {
                for (chunk, &mask) in shape.mask.iter().enumerate() {
                    self.scan_ambiguous_mask(addr + chunk * 64 * WORD, mask);
                }
            }
            ScanKind::AmbiguousPrefix => {
                let end = end.min(addr.saturating_add(shape.prefix_words().saturating_mul(WORD)));
                self.scan_range(Range { next: addr, end, shape: 0, dense: false }, addr);
            }
            ScanKind::Bits => {
                let space = self.space;
                // SAFETY: the page's entry says that objects here have bits.
                unsafe { space.pointer_bits().for_each(addr..end, |slot| self.push(Self::word(slot))) };
            }
            ScanKind::Numbered => {
                // SAFETY: the page's entry says that objects here have numbers.
                self.scan(addr, unsafe { self.space.numbered_entry(ObjectRef::new(addr)) });
            }
            // A stray word may keep an object alive that refers to a freed one: so a freed object is not traced. A
            // concurrent marking traces it: an object freed since the snapshot is marked and keeps its words, which may
            // be the only path to their objects.
            ScanKind::Trace if !M::Scope::SNAPSHOT && self.space.is_freed(ObjectRef::new(addr)) => {}
            ScanKind::Trace => {
                let trace = shape.trace().expect("a trace shape has a function");
                // SAFETY: the type's author promised that the function accepts any object of the type, zeros included.
                unsafe { self.trace((addr, end - addr), trace) };
            }
            ScanKind::Arena => self.visit_chunk(addr),
            ScanKind::Ephemeron => self.scan_ephemeron(addr),
            ScanKind::NoPointers | ScanKind::Pair | ScanKind::Mask => {}
        }
    }

    /// Scans a short range now; a long one waits on the range stack. If that is full, the whole of `object` is scanned
    /// again later.
    fn scan_range(&mut self, range: Range, object: usize) {
        if range.end.saturating_sub(range.next) <= SLICE_WORDS * WORD {
            self.scan_all(range);
        } else if !self.stacks.ranges.push(range) {
            self.object_overflow(object);
        }
    }

    /// Scans pointer slots outside the heap: a few now, many in slices, so that they do not fill the stack.
    pub(super) fn scan_slots(&mut self, slots: core::ops::Range<usize>) {
        let range = Range { next: slots.start, end: slots.end, shape: SLOTS, dense: true };
        if M::Scope::SNAPSHOT || slots.len() <= SLICE_WORDS * WORD || !self.stacks.ranges.push(range) {
            self.scan_all(range);
        }
    }

    /// Scans the next slice of a waiting range; false if none waits.
    #[cold]
    pub(super) fn next_range(&mut self) -> bool {
        if self.has_idle_marker() {
            self.share_work(true);
        }
        let Some(range) = self.stacks.ranges.pop() else { return false };
        let Some((mut range, rest)) = self.written_part(range) else { return true };
        if let Some(rest) = rest
            && !self.stacks.ranges.push(rest)
        {
            // Without room for the rest the whole is one range, as if all of it had been written.
            range.end = rest.end;
        }
        let first = self.slice_of(&mut range);
        if range.next < range.end && !self.stacks.ranges.push(range) {
            // The split into two may have used up the room.
            self.scan_all(range);
        }
        self.scan_slice(first);
        true
    }

    /// Scans a range from beginning to end.
    pub(super) fn scan_all(&mut self, mut range: Range) {
        while range.next < range.end {
            let slice = self.slice_of(&mut range);
            self.scan_slice(slice);
        }
    }

    /// Takes the first slice off a range.
    pub(super) fn slice_of(&self, range: &mut Range) -> Range {
        if range.shape < CHUNK_BITS
            && let Some(slice) = self.slice_of_program(range)
        {
            return slice;
        }
        let element = self.element_bytes(range.shape);
        let step = (SLICE_WORDS * WORD / element).max(1) * element;
        let slice = Range { end: range.end.min(range.next + step), ..*range };
        range.next = slice.end;
        slice
    }

    /// The part of a range that begins where memory was first written, and the rest behind it; none if no page of the
    /// range was ever written, so it holds no pointer. The parts end between elements.
    pub(super) fn written_part(&self, range: Range) -> Option<(Range, Option<Range>)> {
        if range.dense || range.end.saturating_sub(range.next) < SPARSE {
            return Some((range, None));
        }
        let written = self.pagemap.first(range.next..range.end)?;
        let element = self.element_bytes(range.shape);
        let start = range.next + (written.start - range.next) / element * element;
        let end = (range.next + (written.end - range.next).next_multiple_of(element)).min(range.end);
        let rest = (end < range.end).then_some(Range { next: end, ..range });
        Some((Range { next: start, end, dense: true, ..range }, rest))
    }

    /// The bytes of an element of a slice of this shape.
    pub(super) fn element_bytes(&self, shape: u32) -> usize {
        if matches!(shape, 0 | SLOTS | CHUNK_BITS) {
            WORD
        } else {
            self.shape_numbered(shape).words as usize * WORD
        }
    }

    /// The unit between which a range of this shape can be split: elements, or words if a program describes them.
    pub(super) fn part_bytes(&self, shape: u32) -> usize {
        match shape {
            0 | SLOTS | CHUNK_BITS => WORD,
            shape if self.shape_numbered(shape).kind() == ScanKind::Program => WORD,
            shape => self.element_bytes(shape),
        }
    }

    pub(super) fn shape_numbered(&self, number: u32) -> &'h Shape {
        // SAFETY: the numbers in ranges come from the entries of pages, which hold those of registered shapes.
        unsafe { &*self.shapes.add(number as usize) }
    }

    pub(super) fn scan_slice(&mut self, range: Range) {
        if range.shape == 0 {
            self.scan_ambiguous(range.next, range.end);
            return;
        }
        if range.shape == CHUNK_BITS {
            let space = self.space;
            // SAFETY: the range lies in a chunk, whose bits are written up to its frontier.
            unsafe {
                space
                    .pointer_bits()
                    .for_each(range.next..range.end, |slot| self.push_from_arena(Self::word(slot)));
            }
            return;
        }
        if range.shape == SLOTS {
            for slot in (range.next..range.end).step_by(WORD) {
                // SAFETY: registered slots, handles and the slots of linked frames stay readable while they are roots.
                // The program may write them with instructions of its own.
                let value = unsafe { AtomicUsize::from_ptr(slot as *mut usize) }.load(Ordering::Relaxed);
                let is_edge = value.wrapping_sub(self.base) < self.committed_end;
                if is_edge && !self.is_marked_base(value) && !self.faults.fails(Fault::MissRoot) {
                    self.push(value);
                }
            }
            return;
        }
        if self.shape_numbered(range.shape).kind() == ScanKind::Program {
            self.scan_program(range);
            return;
        }
        let (words, mask) = {
            let shape = self.shape_numbered(range.shape);
            (shape.words as usize, shape.mask)
        };
        if words == 1 {
            // A slice of pointers.
            for slot in (range.next..range.end).step_by(WORD) {
                self.push(Self::word(slot));
            }
            return;
        }
        let mut element = range.next;
        while element + words * WORD <= range.end {
            for (chunk, &bits) in mask.iter().enumerate() {
                self.scan_mask(element + chunk * 64 * WORD, bits);
            }
            element += words * WORD;
        }
    }
}
