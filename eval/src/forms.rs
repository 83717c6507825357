//! `heapwood-eval forms`: how an object whose layout has no spans of its own can say where its pointers are: bits beside the heap (what the
//! heap does for small cells), bits in the span, a layout number beside the heap (in the room of the bits, as the heap does
//! for larger cells, or with room of its own) or in the object; next to them objects in spans of one
//! layout, for which nothing is written. All forms allocate the same sequence of layouts in heaps of one size and find
//! the pointers of all their objects in random order, taking turns, in nanoseconds an object. Invariant:
//! before it is timed each form has found what the masks say, in memory that was not zero. The loop that visits is
//! modelled on the marker's (`heapwood-gc`, `mark/queue.rs`), and all forms walk their masks by the same code
//! (`PointerBits::for_each` does more for each word of bits). The question comes from mark bits, where those beside the
//! heap were faster than those in the span (docs/design/metadata.md).
//!
//! An object costs each form one store to its first word and one to a list, as a mutator would fill and keep it; zeroing
//! and the search for free cells are left out.

use crate::args::Forms;
use crate::timing::{Clock, Series, rounds};
use heapwood_heap::{GRANULE, SizeClass, prefetch};
use heapwood_layout::WORD;
use heapwood_os::region::Zeroed;
use heapwood_os::{HUGE_PAGE, MappedArray, Reservation, SYSTEM};
use heapwood_pages::PAGE_SIZE;
use heapwood_report::tables::{number, show, table};
use heapwood_report::{CommandError, Header, Progress, Spread};
use serde::Serialize;
use std::fmt;
use std::hint::black_box;

const HEAP: usize = 64 << 20;
const LAYOUTS: usize = 1000;
/// As the marker's.
const RING: usize = 32;
/// A page's pointer bits, where they are in the span.
const PAGE_BITS: usize = PAGE_SIZE / WORD / 8;

/// A layout as the marker reads it: one line.
#[repr(C, align(64))]
struct Shape {
    mask: [u64; 4],
    /// Words of the mask that are in use.
    chunks: usize,
}

/// Objects of one size, and what one form keeps about them. Cells are offsets into the memory.
struct Heap<'a> {
    memory: Reservation,
    side: MappedArray<u8>,
    marks: MappedArray<u64>,
    /// A word a page: a layout, or the words of a cell where layouts share a span. Every form reads it.
    entries: MappedArray<u64>,
    shapes: &'a [Shape],
    class: SizeClass,
}

impl Heap<'_> {
    fn word(&self, offset: usize) -> *mut u64 {
        debug_assert!(offset < HEAP);
        (self.memory.start() + offset) as *mut u64
    }

    fn shape(&self, number: usize) -> &Shape {
        debug_assert!(number < self.shapes.len());
        // SAFETY: numbers come from a list of layouts that are all in the table.
        unsafe { self.shapes.get_unchecked(number) }
    }
}

/// A way to say where an object's pointers are.
trait Form {
    const HEADER: usize = 0; // bytes of an object before its first word
    const TAIL: usize = 0; // bytes at the end of a span
    const SIDE: usize = 0; // bytes beside the heap
    const OWN: bool = false; // whether each layout has spans of its own
    const LEAST: usize = 0; // the smallest object it is for
    /// Writes down that the object in `cell` has the layout `number`.
    fn write(_heap: &Heap, _cell: usize, _number: usize) {}
    /// Fetches what `for_each` reads first, the object apart.
    fn fetch(_heap: &Heap, _cell: usize) {}
    /// Calls `slot` with the offset of each pointer of the object in `cell`, on a page with this entry.
    fn for_each(heap: &Heap, cell: usize, entry: usize, slot: impl FnMut(usize));
}

/// Calls `slot` for each pointer of an object, of whose mask `chunk` gives so many words.
fn walk(object: usize, chunks: usize, chunk: impl Fn(usize) -> u64, mut slot: impl FnMut(usize)) {
    // Up to a constant, which makes four loops of it: what is executed for each object decides how many misses overlap.
    for k in 0..4 {
        if k >= chunks {
            return;
        }
        let mut mask = chunk(k);
        while mask != 0 {
            slot(object + (k * 64 + mask.trailing_zeros() as usize) * WORD);
            mask &= mask - 1;
        }
    }
}

fn by_shape(heap: &Heap, number: usize, object: usize, slot: impl FnMut(usize)) {
    let shape = heap.shape(number);
    walk(object, shape.chunks, |k| shape.mask[k], slot);
}

struct OneLayout;

impl Form for OneLayout {
    const OWN: bool = true;
    fn for_each(heap: &Heap, cell: usize, entry: usize, slot: impl FnMut(usize)) {
        by_shape(heap, entry, cell, slot);
    }
}

/// A bit a word, beside the heap or at the end of its page, which is the span.
struct Bits<const IN_SPAN: bool>;

impl<const IN_SPAN: bool> Bits<IN_SPAN> {
    /// Where the bits are, and which of them is the first of the cell's.
    fn place(heap: &Heap, cell: usize) -> (*mut u64, usize) {
        if IN_SPAN {
            let end = (cell | (PAGE_SIZE - 1)) + 1;
            (heap.word(end - PAGE_BITS), cell % PAGE_SIZE / WORD)
        } else {
            (heap.side.as_ptr().cast(), cell / WORD)
        }
    }
}

impl<const IN_SPAN: bool> Form for Bits<IN_SPAN> {
    const TAIL: usize = if IN_SPAN { PAGE_BITS } else { 0 };
    const SIDE: usize = if IN_SPAN { 0 } else { HEAP / WORD / 8 };
    fn write(heap: &Heap, cell: usize, number: usize) {
        let (bits, at) = Self::place(heap, cell);
        let words = heap.class.cell_size() / WORD;
        for (&mask, from) in heap.shape(number).mask.iter().zip((0..words).step_by(64)) {
            let count = (words - from).min(64);
            let all = u64::MAX >> (64 - count);
            let shift = (at + from) % 64;
            // SAFETY: each word of the heap has a bit there, and the second word of bits holds some of the cell's.
            unsafe {
                let word = bits.add((at + from) / 64);
                *word = *word & !(all << shift) | mask << shift;
                if shift + count > 64 {
                    let next = word.add(1);
                    *next = *next & !(all >> (64 - shift)) | mask >> (64 - shift);
                }
            }
        }
    }
    fn fetch(heap: &Heap, cell: usize) {
        let (bits, at) = Self::place(heap, cell);
        prefetch::for_read(bits.cast::<u8>().wrapping_add(at / 8));
    }
    fn for_each(heap: &Heap, cell: usize, entry: usize, slot: impl FnMut(usize)) {
        let ((bits, at), words) = (Self::place(heap, cell), entry);
        // SAFETY: bytes of the table, behind whose last bits there is a word, or of the span (below).
        let read = |byte| unsafe { bits.cast::<u8>().add(byte).cast::<u64>().read_unaligned() };
        // Cells of 512 bytes and more are multiples of 64, so their bits fill bytes; those of more than 256 are multiples
        // of 32. So eight bytes from the one that holds the first bit, or the span's last, hold all that is needed.
        let last = if IN_SPAN { PAGE_BITS - WORD } else { usize::MAX };
        let chunk = |k: usize| {
            if k * 64 + 64 <= words {
                return read(at / 8 + k * WORD);
            }
            let byte = last.min(at / 8 + k * WORD);
            read(byte) >> (at + k * 64 - byte * 8) & u64::MAX >> (k * 64 + 64 - words)
        };
        walk(cell, words.div_ceil(64), chunk, slot);
    }
}

/// A number in the first whole byte that `STEP` bytes of the heap have beside it, and the next: with 8 that is 16 bits a
/// granule, with 64 the room that bits would take.
struct NumberBeside<const STEP: usize>;

impl<const STEP: usize> Form for NumberBeside<STEP> {
    const SIDE: usize = HEAP / STEP;
    // Of 192 bytes and more, two whole bytes of bits are about the object alone.
    const LEAST: usize = if STEP == 8 { 0 } else { 192 };
    fn write(heap: &Heap, cell: usize, number: usize) {
        // SAFETY: both bytes are about the object, so they are there.
        unsafe { heap.side.at(cell.div_ceil(STEP)).cast::<u16>().write_unaligned(number as u16) }
    }
    fn fetch(heap: &Heap, cell: usize) {
        prefetch::for_read(heap.side.at(cell.div_ceil(STEP)));
    }
    fn for_each(heap: &Heap, cell: usize, _: usize, slot: impl FnMut(usize)) {
        // SAFETY: as above.
        let number = unsafe { heap.side.at(cell.div_ceil(STEP)).cast::<u16>().read_unaligned() };
        by_shape(heap, number as usize, cell, slot);
    }
}

struct NumberInObject;

impl Form for NumberInObject {
    const HEADER: usize = WORD;
    fn write(heap: &Heap, cell: usize, number: usize) {
        // SAFETY: the object's first word.
        unsafe { heap.word(cell).write(number as u64) }
    }
    fn for_each(heap: &Heap, cell: usize, _: usize, slot: impl FnMut(usize)) {
        // SAFETY: as above; what is visited was allocated.
        let number = unsafe { heap.word(cell).read() };
        by_shape(heap, number as usize, cell + Self::HEADER, slot);
    }
}

/// Allocates objects of these layouts until the heap is full, says where in `placed`, and returns how many they are.
#[inline(never)]
fn allocate<F: Form>(heap: &Heap, layouts: &[u16], placed: &mut [u32]) -> usize {
    let (cell_size, span) = (heap.class.cell_size(), heap.class.span_pages().bytes());
    let used = (span - F::TAIL) / cell_size * cell_size;
    // In memory also where one is for all layouts, as a mutator's are.
    let mut runs = black_box(vec![(0, 0); if F::OWN { heap.shapes.len() } else { 1 }]);
    let mut next = 0;
    for (k, (&layout, place)) in layouts.iter().zip(placed).enumerate() {
        let number = layout as usize;
        let run = &mut runs[if F::OWN { number } else { 0 }];
        if run.0 == run.1 {
            if next + span > HEAP {
                return k;
            }
            *run = (next, next + used);
            let entry = if F::OWN { number } else { cell_size / WORD };
            // SAFETY: a page of the heap has an entry.
            let set = |page| unsafe { heap.entries.at(page).write(entry as u64) };
            (next / PAGE_SIZE..(next + span) / PAGE_SIZE).for_each(set);
            next += span;
        }
        let cell = run.0;
        run.0 += cell_size;
        F::write(heap, cell, number);
        // SAFETY: the cell's own.
        unsafe { heap.word(cell + F::HEADER).write(value(k, 0)) };
        *place = (cell / GRANULE) as u32;
    }
    layouts.len()
}

/// Visits the objects in this order, and adds up what their pointers hold.
#[inline(never)]
fn visit<F: Form>(heap: &Heap, order: &[u32]) -> u64 {
    let mut ring = [(0, 0); RING];
    let mut sum = 0u64;
    for at in 0..order.len() + RING {
        let next = order.get(at).map_or((0, 0), |&granule| {
            let cell = granule as usize * GRANULE;
            F::fetch(heap, cell);
            prefetch::for_read(heap.marks.at(cell / GRANULE / 64).cast());
            prefetch::for_read(heap.word(cell).cast());
            // SAFETY: a page of the heap has an entry.
            (cell, unsafe { *heap.entries.at(cell / PAGE_SIZE) })
        });
        let (cell, entry) = std::mem::replace(&mut ring[at % RING], next);
        if at < RING {
            continue;
        }
        // SAFETY: a granule of the heap has a mark bit.
        unsafe { *heap.marks.at(cell / GRANULE / 64) |= 1 << (cell / GRANULE % 64) };
        // SAFETY: a slot is a word of an object.
        let slot = |slot| sum = sum.wrapping_add(unsafe { heap.word(slot).read() });
        F::for_each(heap, cell, entry as usize, slot);
    }
    sum
}

/// What word `word` of object `object` holds.
fn value(object: usize, word: usize) -> u64 {
    object as u64 ^ (word as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The next number below `n` (Steele's SplitMix64).
fn random(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (((x ^ x >> 31) as u128 * n as u128) >> 64) as usize
}

/// Different layouts of so many words and pointers: as many as there are, but no more than [`LAYOUTS`].
fn draw(words: usize, pointers: usize, state: &mut u64) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = vec![];
    for _ in 0..20 * LAYOUTS {
        let mut mask = [0u64; 4];
        while mask.iter().map(|m| m.count_ones() as usize).sum::<usize>() < pointers {
            let word = random(state, words);
            mask[word / 64] |= 1 << (word % 64);
        }
        if shapes.len() < LAYOUTS && shapes.iter().all(|shape| shape.mask != mask) {
            shapes.push(Shape { mask, chunks: words.div_ceil(64) });
        }
    }
    shapes
}

/// One form's heap, with its objects in the order in which they will be visited.
struct Filled<'a> {
    heap: Heap<'a>,
    allocate: fn(&Heap, &[u16], &mut [u32]) -> usize,
    visit: fn(&Heap, &[u32]) -> u64,
    order: Vec<u32>,
    sum: u64,
    allocate_ns: Series,
    find_ns: Series,
    /// What an object takes beyond its share of a span that holds nothing else.
    bytes: f64,
}

/// Fills a heap and checks that the form finds the pointers; nothing if it is not for this size.
fn fill<'a, F: Form>(
    size: usize,
    shapes: &'a [Shape],
    layouts: &[u16],
) -> Result<Option<Filled<'a>>, CommandError> {
    fn array<T: Zeroed>(len: usize) -> Result<MappedArray<T>, CommandError> {
        let array = MappedArray::new(&SYSTEM, len).map_err(CommandError::run)?;
        array.commit(0..len).map_err(CommandError::run)?;
        Ok(array)
    }
    let Some(plain) = SizeClass::of(size).filter(|_| size >= F::LEAST) else { return Ok(None) };
    let Some(class) = SizeClass::of(size + F::HEADER) else { return Ok(None) };
    assert!(F::TAIL == 0 || class.span_pages().0 == 1, "bits in a span are found by the page");
    // Objects have huge pages, tables of this size have none: as in the heap.
    let memory = Reservation::new(&SYSTEM, HEAP, HUGE_PAGE).map_err(CommandError::run)?;
    memory.commit(0..HEAP).map_err(CommandError::run)?;
    memory.advise_huge(0..HEAP);
    let (marks, entries) = (array(HEAP / GRANULE / 64)?, array(HEAP / PAGE_SIZE)?);
    let heap = Heap { memory, side: array(F::SIDE + WORD)?, marks, entries, shapes, class };
    // SAFETY: committed just now, with these lengths.
    unsafe {
        heap.word(0).write_bytes(0xff, HEAP / WORD);
        heap.side.as_ptr().write_bytes(0xff, F::SIDE);
    }
    let mut order = vec![0; layouts.len()];
    let count = allocate::<F>(&heap, layouts, &mut order);
    order.truncate(count);
    let mut expected = 0u64;
    for (k, &granule) in order.iter().enumerate() {
        for word in 0..size / WORD {
            let at = granule as usize * GRANULE + F::HEADER + word * WORD;
            // SAFETY: a word of an object.
            unsafe { heap.word(at).write(value(k, word)) };
            if shapes[layouts[k] as usize].mask[word / 64] >> (word % 64) & 1 == 1 {
                expected = expected.wrapping_add(value(k, word));
            }
        }
    }
    let mut state = 1;
    (1..count).for_each(|k| order.swap(k, random(&mut state, k + 1)));
    let sum = visit::<F>(&heap, &order);
    if sum != expected {
        return Err(CommandError::run(format!("{} finds other pointers", std::any::type_name::<F>())));
    }
    let share = plain.span_pages().bytes() as f64 / plain.span_cells() as f64;
    let bytes = (HEAP + F::SIDE) as f64 / count as f64 - share;
    let (allocate, visit) = (allocate::<F>, visit::<F>);
    let (allocate_ns, find_ns) = (Series::new(), Series::new());
    Ok(Some(Filled { heap, allocate, visit, order, sum, allocate_ns, find_ns, bytes }))
}

impl Filled<'_> {
    fn allocate(&mut self, clock: &Clock, measuring: bool, layouts: &[u16], placed: &mut [u32]) {
        let (ns, count) = clock.time(|| (self.allocate)(&self.heap, layouts, black_box(placed)));
        if measuring {
            self.allocate_ns.push(ns / count as f64);
        }
    }

    fn find(&mut self, clock: &Clock, measuring: bool) -> Result<(), CommandError> {
        let (ns, sum) = clock.time(|| (self.visit)(&self.heap, &self.order));
        if measuring {
            self.find_ns.push(ns / self.order.len() as f64);
        }
        if sum == self.sum { Ok(()) } else { Err(CommandError::run("objects changed their pointers")) }
    }
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    sizes: Vec<Row>,
}

/// Objects of one size and number of pointers.
#[derive(Serialize)]
struct Row {
    bytes: usize,
    pointers: usize,
    /// How many different ones there are.
    layouts: usize,
    /// In the order of [`FORMS`]; `None` for a form that is not for this size.
    forms: [Option<Figures>; FORMS.len()],
}

/// What a form costs an object.
#[derive(Serialize)]
struct Figures {
    allocate_ns: Spread,
    find_ns: Spread,
    more_bytes: f64,
}

/// The forms, as the tables call them.
const FORMS: [&str; 6] = ["0", "1", "2", "3", "3b", "4"];

pub(crate) fn run(args: &Forms) -> Result<(), CommandError> {
    let (bar, clock) = (Progress::new(), Clock::new());
    let mut sizes = Vec::new();
    for size in [64, 96, 256, 512, 1024, 2048] {
        for pointers in [2, size / WORD / 2] {
            bar.show(format!("{size} bytes, {pointers} pointers"));
            sizes.push(measure(size, pointers, args.runs.k, &bar, &clock)?);
        }
    }
    bar.finish();
    let header = Header::now(format!("heapwood-eval forms --runs {}", args.runs.k), args.runs.k);
    args.output.show("forms", &Report { header, sizes })
}

fn measure(
    size: usize,
    pointers: usize,
    runs: u32,
    bar: &Progress,
    clock: &Clock,
) -> Result<Row, CommandError> {
    let mut state = size as u64;
    let shapes = draw(size / WORD, pointers, &mut state);
    let layouts: Vec<u16> = (0..HEAP / size).map(|_| random(&mut state, shapes.len()) as u16).collect();
    let mut forms = [
        fill::<OneLayout>(size, &shapes, &layouts)?,
        fill::<Bits<false>>(size, &shapes, &layouts)?,
        fill::<Bits<true>>(size, &shapes, &layouts)?,
        fill::<NumberBeside<8>>(size, &shapes, &layouts)?,
        fill::<NumberBeside<64>>(size, &shapes, &layouts)?,
        fill::<NumberInObject>(size, &shapes, &layouts)?,
    ];
    let mut placed = vec![0; layouts.len()];
    rounds(runs, bar, 1, |measuring| {
        for form in forms.iter_mut().flatten() {
            form.allocate(clock, measuring, &layouts, &mut placed);
        }
        forms.iter_mut().flatten().try_for_each(|form| form.find(clock, measuring))?;
        bar.advance();
        Ok(())
    })?;
    let figures = |form: Filled<'_>| Figures {
        allocate_ns: form.allocate_ns.spread(),
        find_ns: form.find_ns.spread(),
        more_bytes: form.bytes,
    };
    let forms = forms.map(|form| form.map(figures));
    Ok(Row { bytes: size, pointers, layouts: shapes.len(), forms })
}

/// What a table shows: its title, and what is in a cell.
type Column = (&'static str, fn(&Figures) -> String);

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.header)?;
        writeln!(
            f,
            "0: one layout a span; 1: bits beside the heap; 2: bits in the span; 3: a number a granule beside the heap;"
        )?;
        writeln!(
            f,
            "3b: the number where 1 has bits; 4: the number in the object. Median (least-most) of {} rounds.",
            self.header.runs
        )?;
        let figures: [Column; 3] = [
            ("Allocate, nanoseconds an object", |figures| show(figures.allocate_ns, 1.0)),
            ("Find the pointers, nanoseconds an object", |figures| show(figures.find_ns, 1.0)),
            (
                "Bytes that an object takes beyond its share of a span without any of this (0: of spans that are not full)",
                |figures| number(figures.more_bytes),
            ),
        ];
        for (title, of) in figures {
            let header = ["size", "pointers", "layouts"].into_iter().chain(FORMS);
            let mut table = table(&header.collect::<Vec<_>>());
            for Row { bytes, pointers, layouts, forms } in &self.sizes {
                let forms = forms.iter().map(|form| form.as_ref().map_or("-".into(), of));
                table.add_row([bytes, pointers, layouts].map(usize::to_string).into_iter().chain(forms));
            }
            writeln!(f, "\n{title}:\n\n{table}")?;
        }
        Ok(())
    }
}
