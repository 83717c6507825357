//! The marking loop. The marker does not follow an edge (the address of an object) as soon as it pops it: it prefetches
//! the edge's mark word, and the edge waits in a short ring while older edges are followed. If the object turns out to
//! be newly marked and may have pointers, the marker prefetches it, and it waits in a second ring before it is scanned.
//! So each object costs one cache miss that overlaps with others, and an edge to a marked object costs no miss on the
//! object. Where nothing else waits, as in a list, the marker follows an edge at once. Queueing edges rather than
//! objects is Cher, Hosking and Vitek's ("Software Prefetching for Mark-Sweep Garbage Collection", 2004);
//! docs/design/collection.md has the gain of the rings. Invariant: an edge on the stack or in a ring is an object's
//! address; an object is scanned once its mark is set, and its mark is set once.

use super::bits::MarkBits;
use super::edge::{ambiguous, is_ambiguous, with_code, word_of};
use super::mode::{Limit, Mode, NextWork, Scope, Team};
use super::ring::Ring;
use super::scan::WORD;
use super::stack::MarkStacks;
use super::undecided::Undecided;
use crate::inject::{Fault, FaultInjector};
use crate::state::rescan_set::RescanSet;
use crate::state::{AmbiguousWords, State};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{
    Address, Collection, GRANULE, MarkSide, MarkingView, ObjectRef, PageEntry, ScanKind, Shape, Space,
    Stopped, prefetch,
};
use heapwood_os::Pagemap;
use heapwood_pages::PAGE_SIZE;

/// The edges that wait for their mark words, and the newly marked objects that wait for their memory
/// (docs/design/collection.md).
const EDGES: usize = 16;
const OBJECTS: usize = 32;
/// The most edges of an object that the loop scans itself.
const LOOP_PUSHES: usize = 64;
/// After N edges a marker looks for an idle marker, or at the clock.
const LOOK_EVERY: u32 = 128;

/// The totals of a marking.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarkTotals {
    /// Bytes of live objects, in cells and pages.
    pub(crate) bytes: usize,
    pub(crate) objects: usize,
    /// Pushes onto a full stack.
    pub(crate) overflows: u64,
    /// CPU time of the helper threads, in nanoseconds.
    pub(crate) helpers_cpu_ns: u64,
    /// The number of helper threads.
    pub(crate) helpers: u32,
    /// The marking ended before everything was marked.
    pub(crate) late: bool,
}

impl MarkTotals {
    /// Adds objects, and their bytes, that were promoted afterwards.
    pub(crate) fn promoted(self, (objects, bytes): (usize, usize)) -> MarkTotals {
        MarkTotals { objects: self.objects + objects, bytes: self.bytes + bytes, ..self }
    }

    /// The sum of two markers' totals. A single marker's may have wrapped below zero, because it uncounts.
    pub(crate) fn plus(self, other: MarkTotals) -> MarkTotals {
        MarkTotals {
            bytes: self.bytes.wrapping_add(other.bytes),
            objects: self.objects.wrapping_add(other.objects),
            overflows: self.overflows + other.overflows,
            helpers_cpu_ns: self.helpers_cpu_ns + other.helpers_cpu_ns,
            helpers: self.helpers + other.helpers,
            late: self.late || other.late,
        }
    }
}

/// Shared by all markers of a heap: one that is stopped, published and swept, or one with a concurrent marking, whose
/// mutators may run.
#[derive(Clone, Copy)]
pub(super) struct Graph<'h> {
    pub(super) state: &'h State,
    /// The side of the mark bits that takes the marks.
    pub(super) marks: MarkSide,
    /// The allocation bits, by which a concurrent marking tells the objects of its snapshot.
    pub(super) view: MarkingView<'h>,
    /// `None` if mutators may run.
    pub(super) world: Option<&'h Stopped<'h>>,
    pub(super) rescan: &'h RescanSet,
}

/// One marker of an active marking. The heap is stopped while it exists, unless its team is `Concurrent`.
pub(super) struct Marker<'h, M> {
    pub(super) mode: M,
    pub(super) space: &'h Space,
    pub(super) marks: MarkSide,
    view: MarkingView<'h>,
    pub(super) world: Option<&'h Stopped<'h>>,
    pub(super) base: usize,
    pub(super) committed_end: usize,
    entries: *const PageEntry,
    pub(super) shapes: *const Shape,
    pub(super) stacks: &'h mut MarkStacks,
    /// The kernel's knowledge of which pages were ever written.
    pub(super) pagemap: &'h Pagemap,
    pub(super) rescan: &'h RescanSet,
    /// Which of the words that may be pointers count.
    words: &'h AmbiguousWords,
    /// Whether words outside stacks count only with registered displacements; read once, when the marking begins.
    is_exact: bool,
    /// An edge may lead to a freed object.
    may_dangle: bool,
    /// Pushes onto a full stack.
    pub(super) overflows: u64,
    /// Bytes of marked objects, in cells and pages.
    pub(super) live_bytes: usize,
    pub(super) live_objects: usize,
    /// Objects and bytes that another marker has counted, too.
    pub(super) twice: (usize, usize),
    pub(super) faults: &'h FaultInjector,
    undecided: Undecided<'h>,
}

impl<'h, M: Mode> Marker<'h, M> {
    /// A marker with empty totals.
    pub(super) fn new(graph: Graph<'h>, stacks: &'h mut MarkStacks, pagemap: &'h Pagemap, mode: M) -> Self {
        let Graph { state, marks, view, world, rescan } = graph;
        let space = state.space();
        Marker {
            mode,
            space,
            marks,
            view,
            world,
            base: space.base().get(),
            committed_end: space.committed_end(),
            entries: space.page_entries(),
            shapes: space.layouts().shapes(),
            stacks,
            pagemap,
            rescan,
            words: state.ambiguous_words(),
            is_exact: !state.ambiguous_words().has_interior(),
            // A dead object may refer to a freed one, and a dead old object or a stray word may keep the dead object.
            may_dangle: !M::Scope::SNAPSHOT && space.may_dangle(),
            overflows: 0,
            live_bytes: 0,
            live_objects: 0,
            twice: (0, 0),
            faults: state.faults(),
            undecided: Undecided::new::<M::Scope>(state),
        }
    }

    /// The ephemerons that it has come to and could not decide on.
    pub(super) fn undecided(&self) -> &Undecided<'h> {
        &self.undecided
    }

    /// Which words that may be pointers count.
    #[inline(always)]
    pub(super) fn words_that_count(&self) -> &'h AmbiguousWords {
        self.words
    }

    /// Whether those outside stacks count only with registered displacements.
    #[inline(always)]
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The bits that a look-up reads.
    #[inline(always)]
    pub(super) fn view(&self) -> MarkingView<'h> {
        self.view
    }

    /// Whether the program has freed an object to which an edge may lead; in a snapshot that is asked elsewhere.
    #[inline(always)]
    pub(super) fn is_freed(&self, object: usize) -> bool {
        self.may_dangle && self.space.is_freed(ObjectRef::new(object))
    }

    #[inline(always)]
    pub(super) fn entry(&self, addr: usize) -> PageEntry {
        // SAFETY: edges lie below the committed end, whose entries are committed.
        unsafe { PageEntry::load(self.entries.add((addr - self.base) / PAGE_SIZE)) }
    }

    #[inline(always)]
    pub(super) fn shape(&self, entry: PageEntry) -> &'h Shape {
        // SAFETY: the entry of a span holds the number of a registered shape, and shapes live with the space.
        unsafe { &*self.shapes.add(entry.shape().index()) }
    }

    /// Whether an edge leads to no object. A full marking need not check cells: an object that refers to a freed cell
    /// was kept by the previous marking, and so was the cell. But the pages of a freed large object are reused at once.
    #[inline(always)]
    pub(super) fn is_dangling(&self, edge: usize) -> bool {
        (matches!(M::Scope::KIND, Collection::Young) || edge.is_multiple_of(PAGE_SIZE))
            && self.may_dangle
            && self.resolves_to_nothing(edge)
    }

    #[inline(never)]
    fn resolves_to_nothing(&self, edge: usize) -> bool {
        if self.entry(edge).is(ScanKind::Arena) {
            return false;
        }
        // A marked address is an object, and is not marked again. SAFETY: edges lie below the committed end, whose bits are
        // committed.
        !unsafe { M::Bits::is_set(self.marks, edge) }
            && self.space.find(Address::new(edge)).is_none_or(|found| found.base.get() != edge)
    }

    /// Adds the edge to the object at `addr`, if that is inside the heap; ignores null and foreign pointers.
    #[inline(always)]
    pub(super) fn push(&mut self, addr: usize) {
        let is_edge =
            addr.wrapping_sub(self.base) < self.committed_end && !self.faults.fails(Fault::LoseMark);
        if is_edge && !self.stacks.edges.push(addr) {
            self.edge_overflow(addr);
        }
    }

    /// The object of the snapshot that an edge leads to; the chunk, if it leads into an arena. Objects allocated since
    /// the snapshot are skipped: they have no allocation bit. No object loses its bit while the marking lasts. A freed
    /// object may have gained its bit by the free if it was allocated since; an older one was shaded.
    #[inline(always)]
    pub(super) fn in_snapshot(&self, edge: usize) -> Option<usize> {
        let is_arena = self.entry(edge).is(ScanKind::Arena);
        let object = if is_arena { self.chunk_in_snapshot(edge)? } else { edge };
        // SAFETY: edges lie below the committed end.
        let is_old = unsafe { self.view.is_allocated_in_heap(object) };
        (is_old && !self.space.is_freed(ObjectRef::new(object))).then_some(object)
    }

    /// The same, if it is unmarked. Most edges lead to objects that are marked already: those need no second look. In an
    /// arena the mark of a value says nothing: the chunk's counts.
    #[inline(always)]
    fn unmarked_in_snapshot(&self, edge: usize) -> Option<usize> {
        // SAFETY: edges lie below the committed end, whose bits are committed.
        let is_marked = || unsafe { M::Bits::is_set(self.marks, edge) };
        if !self.entry(edge).is(ScanKind::Arena) && is_marked() {
            return None;
        }
        self.in_snapshot(edge)
    }

    #[cold]
    fn chunk_in_snapshot(&self, edge: usize) -> Option<usize> {
        // A word into a freed arena chunk keeps its addresses in quarantine: the look-up notes it.
        self.space
            .arenas()
            .find_chunk(Address::new(edge))
            .filter(|chunk| chunk.is_in_use())
            .map(|chunk| chunk.start())
    }

    /// Follows edges until none is left anywhere.
    pub(super) fn drain(&mut self) -> MarkTotals {
        loop {
            self.follow_all();
            match self.next_work() {
                NextWork::Edges => {}
                NextWork::Rescan => self.rescan_overflowed(),
                NextWork::None => return self.totals(),
            }
        }
    }

    pub(super) fn totals(&self) -> MarkTotals {
        MarkTotals {
            bytes: self.live_bytes.wrapping_sub(self.twice.1),
            objects: self.live_objects.wrapping_sub(self.twice.0),
            overflows: self.overflows,
            helpers_cpu_ns: 0,
            helpers: 0,
            late: false,
        }
    }

    /// Uncounts objects that both this marker and another have marked: `bits` of the mark word whose first granule lies
    /// at `first`.
    #[cold]
    #[inline(never)]
    fn uncount(&mut self, first: usize, mut bits: u64) {
        while bits != 0 {
            let addr = first + bits.trailing_zeros() as usize * GRANULE;
            bits &= bits - 1;
            if self.entry(addr).is(ScanKind::Arena) {
                continue;
            }
            let cell = self.shape(self.entry(addr)).cell_size as usize;
            self.twice.0 += 1;
            self.twice.1 += if cell != 0 { cell } else { self.large_bytes(addr) };
        }
    }

    /// Leaves the edges of a marked object unfollowed, at the deadline.
    #[cold]
    #[inline(never)]
    fn leave_marked(&mut self, object: usize, entry: PageEntry) {
        match entry.is(ScanKind::Arena) {
            false => self.count(object, self.shape(entry)),
            // A word led into the chunk: `free`, or the end of this collection if no arena has the chunk any more, has
            // to know that.
            true => {
                let chunk =
                    self.space.arenas().find_chunk(Address::new(object)).filter(|chunk| chunk.is_in_use());
                chunk.inspect(|chunk| chunk.note_inside());
            }
        }
    }

    /// Leaves all edges at the deadline; the objects that wait in the ring have their marks.
    #[cold]
    #[inline(never)]
    fn leave_all(&mut self, objects: &mut Ring<'_, (usize, PageEntry), OBJECTS>) {
        while !objects.is_empty() {
            let (object, entry) = objects.pop();
            self.leave_marked(object, entry);
        }
        self.stacks.clear();
    }

    /// Follows edges until none is left on the stack, in the rings or in ranges.
    pub(super) fn follow_all(&mut self) {
        let marker = self;
        heapwood_heap::by_cpu!(marker.space.cpu(), Marker::follow, <M: Mode> (marker: &mut Marker<'_, M>))
    }

    /// Marks and scans the object of an edge of a concurrent marking, if it is not marked.
    pub(super) fn follow_edge(&mut self, edge: usize) {
        let Some(edge) = self.object_of(edge) else { return };
        let Some(object) = self.in_snapshot(edge) else { return };
        // SAFETY: edges of the snapshot are bases of objects, and all markers set bits in compatible ways.
        if unsafe { M::Bits::set_at_once(self.marks, object) } {
            self.mode.scope().marked(object);
            self.visit_marked(object, self.entry(object));
        }
    }

    /// Puts what waits in the rings back onto the stacks, where the marking will go on.
    #[cold]
    #[inline(never)]
    fn put_back(
        &mut self,
        edges: &mut Ring<'_, usize, EDGES>,
        objects: &mut Ring<'_, (usize, PageEntry), OBJECTS>,
    ) {
        while !edges.is_empty() {
            let edge = edges.pop();
            self.push(edge);
        }
        while !objects.is_empty() {
            let (object, entry) = objects.pop();
            self.visit_marked(object, entry);
        }
    }

    #[inline(always)]
    fn follow(&mut self) {
        // What each object needs lives in locals: the compiler cannot keep fields in registers across the stores to
        // mark bits and stack.
        let (marks, base, committed_end) = (self.marks, self.marks.base(), self.committed_end);
        let (entries, shapes, faults) = (self.entries, self.shapes, self.faults);
        let (mut edges, mut objects) =
            ([const { MaybeUninit::uninit() }; EDGES], [const { MaybeUninit::uninit() }; OBJECTS]);
        let (mut edges, mut objects) = (Ring::new(&mut edges), Ring::new(&mut objects));
        let bottom = self.stacks.edges.bottom();
        let mut roomy = self.stacks.edges.room_for(LOOP_PUSHES);
        let mut top = self.stacks.edges.top();
        let mut pairs = 0;
        let view = self.view;
        let (words, is_exact) = (self.words, self.is_exact);
        let (mut bits, mut looks) = (M::Bits::default(), LOOK_EVERY);
        'follow: loop {
            let (object, entry) = 'ready: {
                let edge = if top != bottom {
                    if M::Limit::BOUNDED || M::Team::SEVERAL {
                        looks -= 1;
                        if looks == 0 {
                            looks = LOOK_EVERY;
                            if M::Limit::BOUNDED && self.mode.limit_mut().is_late() {
                                break 'follow;
                            }
                            if M::Team::SEVERAL && self.has_idle_marker() {
                                self.stacks.edges.set_top(top);
                                // Where a few lists are marked, most edges wait in the ring.
                                for _ in 0..edges.len() / 2 {
                                    self.offer(edges.pop());
                                }
                                self.share_work(!edges.is_empty() || !objects.is_empty());
                                top = self.stacks.edges.top();
                                continue 'follow;
                            }
                        }
                    }
                    // SAFETY: entries between bottom and top were written by pushes.
                    let next = unsafe {
                        top = top.sub(1);
                        top.read()
                    };
                    marks.prefetch(next);
                    if M::Scope::SNAPSHOT || is_ambiguous(next) {
                        view.prefetch(next);
                    }
                    if edges.is_full() {
                        edges.replace(next)
                    } else if top == bottom && edges.is_empty() && objects.is_empty() {
                        // An edge with nothing to wait for, as in a list.
                        next
                    } else {
                        edges.push(next);
                        continue 'follow;
                    }
                } else if !self.stacks.ranges.is_empty() {
                    if M::Limit::BOUNDED && self.mode.limit_mut().is_late() {
                        break 'follow;
                    }
                    self.stacks.edges.set_top(top);
                    self.next_range();
                    (top, roomy) = (self.stacks.edges.top(), self.stacks.edges.room_for(LOOP_PUSHES));
                    continue 'follow;
                } else if edges.len() >= objects.len() && !edges.is_empty() {
                    // No new edge: the fuller ring gives one, so that both keep some waiting.
                    edges.pop()
                } else if !objects.is_empty() {
                    break 'ready objects.pop();
                } else {
                    break 'follow;
                };
                let edge = if is_ambiguous(edge) {
                    // SAFETY: edges lie below the committed end, whose entries are committed.
                    let entry = unsafe { PageEntry::load(entries.add((edge - base) / PAGE_SIZE)) };
                    let mut object = word_of(edge);
                    if !self.is_base(object, entry, view) {
                        object = match self.look_inside(object, entry) {
                            Some(object) => object,
                            None => continue 'follow,
                        };
                    }
                    if !self.counts(edge, object) {
                        continue 'follow;
                    }
                    object
                } else if self.is_dangling(edge) {
                    continue 'follow;
                } else {
                    edge
                };
                let edge = match M::Scope::SNAPSHOT {
                    false => edge,
                    true => match self.unmarked_in_snapshot(edge) {
                        Some(object) => object,
                        None => continue 'follow,
                    },
                };
                if !self.mode.scope().has(edge) {
                    continue 'follow;
                }
                // SAFETY: edges are bases of objects (precise slots by the clients' contract, ambiguous words after
                // look-up), and all markers set bits in compatible ways.
                if !unsafe { bits.set(marks, edge, |first, twice| self.uncount(first, twice)) } {
                    continue 'follow;
                }
                self.mode.scope().marked(edge);
                // SAFETY: edges lie below the committed end, whose entries are committed.
                let entry = unsafe { PageEntry::load(entries.add((edge - base) / PAGE_SIZE)) };
                if entry.is(ScanKind::NoPointers) {
                    // Counted without a read of the object. SAFETY: the entry of a span holds the number of a
                    // registered shape.
                    self.count(edge, unsafe { &*shapes.add(entry.shape().index()) });
                    continue 'follow;
                }
                prefetch::for_read(edge as *const u8);
                if objects.is_full() {
                    objects.replace((edge, entry))
                } else if top == bottom && edges.is_empty() && objects.is_empty() {
                    (edge, entry)
                } else {
                    objects.push((edge, entry));
                    continue 'follow;
                }
            };
            // Writes every word and keeps it only if it is an edge: leaves are as common as inner nodes, so a branch on
            // null would be mispredicted every other time.
            let push = |top: &mut *mut usize, word: usize| {
                // SAFETY: `roomy` leaves space for all pushes of this object; the word is one of the object's.
                unsafe {
                    let target = AtomicUsize::from_ptr(word as *mut usize).load(Ordering::Relaxed);
                    top.write(target);
                    let is_edge = target.wrapping_sub(base) < committed_end && !faults.fails(Fault::LoseMark);
                    *top = top.add(is_edge as usize);
                }
            };
            let push_ambiguous = |top: &mut *mut usize, word: usize| {
                // SAFETY: as above.
                unsafe {
                    let target = AtomicUsize::from_ptr(word as *mut usize).load(Ordering::Relaxed);
                    top.write(ambiguous(target));
                    let is_edge = target.wrapping_sub(base) < committed_end && !faults.fails(Fault::LoseMark);
                    *top = top.add(is_edge as usize);
                }
            };
            let push_exact = |top: &mut *mut usize, word: usize| {
                // SAFETY: as above.
                unsafe {
                    let target = AtomicUsize::from_ptr(word as *mut usize).load(Ordering::Relaxed);
                    let code = words.code(target);
                    top.write(with_code(target, code));
                    let is_edge = target.wrapping_sub(base) < committed_end && code != 0;
                    *top = top.add(is_edge as usize);
                }
            };
            if entry.is(ScanKind::Pair) && top < roomy {
                pairs += 1;
                push(&mut top, object);
                push(&mut top, object + 8);
            } else if entry.is_word_pair() && top < roomy && !is_exact {
                pairs += 1;
                push_ambiguous(&mut top, object);
                push_ambiguous(&mut top, object + WORD);
            } else if entry.is(ScanKind::Mask) && top < roomy {
                // SAFETY: the entry of a span holds the number of a registered shape.
                let shape = unsafe { &*shapes.add(entry.shape().index()) };
                self.count(object, shape);
                let mut mask = shape.mask[0];
                while mask != 0 {
                    push(&mut top, object + 8 * mask.trailing_zeros() as usize);
                    mask &= mask - 1;
                }
            } else if entry.is(ScanKind::Conservative)
                && top < roomy
                // SAFETY: the entry of a span holds the number of a registered shape.
                && let shape = unsafe { &*shapes.add(entry.shape().index()) }
                && shape.has_cells_up_to(LOOP_PUSHES * WORD)
            {
                self.count(object, shape);
                let (mut word, end) = (object, object + shape.cell_size as usize);
                // Cells are whole granules, of two words.
                if is_exact {
                    while word < end {
                        push_exact(&mut top, word);
                        word += WORD;
                    }
                }
                while word < end {
                    push_ambiguous(&mut top, word);
                    push_ambiguous(&mut top, word + WORD);
                    word += GRANULE;
                }
            } else {
                self.stacks.edges.set_top(top);
                self.stacks.edges.reserve(LOOP_PUSHES);
                self.visit_marked(object, entry);
                (top, roomy) = (self.stacks.edges.top(), self.stacks.edges.room_for(LOOP_PUSHES));
            }
        }
        // SAFETY: as where bits were set.
        unsafe { bits.flush(marks, |first, twice| self.uncount(first, twice)) };
        self.stacks.edges.set_top(top);
        if M::Limit::GOES_ON {
            self.put_back(&mut edges, &mut objects);
        } else if M::Limit::BOUNDED && self.mode.limit().was_late() {
            self.leave_all(&mut objects);
        }
        self.live_objects += pairs;
        self.live_bytes += pairs * 16;
    }
}
