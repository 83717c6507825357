//! The kinds of objects a program makes: every way of scanning, small and large. A kind has a fixed size; masks and
//! lengths differ from seed to seed.

use crate::arena::Values;
use crate::rng::Rng;
use crate::words::load;
use heapwood_gc::{Heap, Mutator, ObjectType, Tracer, slice_scan};
use heapwood_heap::{ArenaHeader, Scan, ScanKind};
use heapwood_layout::program::Builder;
use heapwood_layout::{Layout, TraceContext, TypeDescriptor};

pub use heapwood_layout::WORD;

/// Sizes of arrays of weak tables: of 8 places, each of two words, and twice as many each time.
const WEAK_ARRAYS: usize = 6;

/// What a slot of a kind may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// The first byte of an object, or null.
    Precise,
    /// Anything: also pointers into objects.
    Ambiguous,
}

/// Where objects of a kind lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    InHeap,
    /// There, and what it holds is the collector's.
    Header,
    /// In an arena, told by a mask,
    Values(Values),
    /// or without pointers, with this alignment.
    Data(usize),
}

/// A kind of object.
pub struct Kind {
    pub name: &'static str,
    pub ty: ObjectType,
    /// The words that may hold pointers.
    pub slots: Vec<u32>,
    /// The same as a test by word.
    pub is_slot: Vec<bool>,
    pub holds: Slots,
    /// Word 0 says how many slots follow (for the trace functions).
    pub counted: bool,
    /// The slots are all words from this one on.
    pub run_from: Option<u32>,
    /// What it holds is the collector's, and no program's to change; where its pointers are the model knows by its edges.
    pub is_opaque: bool,
    /// How often it is chosen, of those that lie in the heap or of those in arenas.
    pub weight: usize,
    pub lies: Storage,
}

impl Kind {
    /// A new object's memory at `at`: aligned, and zero where it has to be.
    pub fn newborn(&self, at: usize, zeroed: bool) -> Result<(), String> {
        if !at.is_multiple_of(heapwood_heap::GRANULE) {
            return Err(format!("a new {} at {at:#x} is not aligned", self.name));
        }
        if zeroed || !self.slots.is_empty() {
            // SAFETY: the object is new and as large as its kind.
            let words = unsafe { core::slice::from_raw_parts(at as *const usize, self.words()) };
            if let Some(w) = words.iter().position(|&w| w != 0) {
                return Err(format!("a new {} at {at:#x} has {:#x} in word {w}", self.name, words[w]));
            }
        }
        Ok(())
    }

    pub fn words(&self) -> usize {
        self.ty.size() / WORD
    }

    /// What a collection counts for one object.
    pub fn counted_bytes(&self) -> usize {
        self.ty.cell_size().unwrap_or_else(|| self.ty.size().next_multiple_of(heapwood_pages::PAGE_SIZE))
    }

    /// The bytes from the first that a pointer may point at and still mean the object.
    pub fn reach(&self) -> usize {
        if self.is_in_arena() { self.ty.size() } else { self.ty.cell_size().unwrap_or(self.ty.size()) }
    }

    pub fn is_in_arena(&self) -> bool {
        matches!(self.lies, Storage::Values(_) | Storage::Data(_))
    }
}

/// All kinds, registered with a heap.
pub struct Kinds {
    pub all: Vec<Kind>,
    weights: usize,
    /// That of arenas' headers, and the weights of what lies in arenas.
    pub header: usize,
    /// That of ephemerons.
    pub ephemeron: usize,
    /// That of weak tables, behind which those of their arrays come, by their size.
    pub weak_table: usize,
    in_arenas: usize,
}

/// The mask of these words.
fn mask_of(slots: &[u32]) -> [u64; 4] {
    let mut mask = [0u64; 4];
    slots.iter().for_each(|&s| mask[s as usize / 64] |= 1 << (s % 64));
    mask
}

/// So many words, those of the mask being pointers.
fn described(words: usize, slots: &[u32]) -> TypeDescriptor {
    TypeDescriptor::masked(words * WORD, &mask_of(slots)[..words.div_ceil(64).min(4)]).unwrap()
}

struct Maker<'a> {
    heap: &'a Heap,
    mutator: &'a Mutator,
    all: Vec<Kind>,
}

impl Maker<'_> {
    fn add(&mut self, name: &'static str, weight: usize, ty: ObjectType, slots: Vec<u32>, holds: Slots) {
        let mut is_slot = vec![false; ty.size() / WORD];
        slots.iter().for_each(|&s| is_slot[s as usize] = true);
        let lies = Storage::InHeap;
        self.all.push(Kind {
            name,
            ty,
            slots,
            is_slot,
            holds,
            counted: false,
            run_from: None,
            is_opaque: false,
            weight,
            lies,
        });
    }

    fn opaque(&mut self, name: &'static str, words: usize) {
        self.add(name, 0, ObjectType::no_pointers(words * WORD), Vec::new(), Slots::Precise);
        self.all.last_mut().unwrap().is_opaque = true;
    }

    /// Values of so many words in an arena.
    fn in_arena(&mut self, weight: usize, words: usize, slots: Vec<u32>) {
        let mask = mask_of(&slots);
        let is_run = slots.len() == words;
        self.add("value of an arena", weight, ObjectType::no_pointers(words * WORD), slots, Slots::Precise);
        let key = 2 + self.all.len();
        let last = self.all.last_mut().unwrap();
        last.lies = Storage::Values(Values::new(key, words, mask));
        last.run_from = is_run.then_some(0);
    }

    fn data_in_arena(&mut self, weight: usize, bytes: usize, align: usize) {
        self.add("text of an arena", weight, ObjectType::no_pointers(bytes), Vec::new(), Slots::Precise);
        self.all.last_mut().unwrap().lies = Storage::Data(align);
    }

    fn masked(&mut self, name: &'static str, weight: usize, words: usize, slots: &[u32]) {
        let ty = self.heap.types().register(&described(words, slots)).unwrap();
        self.add(name, weight, ty, slots.to_vec(), Slots::Precise);
    }

    fn slice(
        &mut self,
        name: &'static str,
        weight: usize,
        header: usize,
        element: (usize, &[u32]),
        n: usize,
    ) {
        let (words, inside) = element;
        let scan = slice_scan(&described(words, inside), header as u8).unwrap();
        let size = (header + words * n) * WORD;
        let ty = self.mutator.types().type_for(size, scan).unwrap();
        assert_eq!(self.heap.space().layouts().shape(ty.shape()).kind(), ScanKind::Slice);
        let slots = (0..n).flat_map(|e| inside.iter().map(move |&s| (header + e * words) as u32 + s));
        self.add(name, weight, ty, slots.collect(), Slots::Precise);
        if words == 1 {
            self.all.last_mut().unwrap().run_from = Some(header as u32);
        }
    }

    /// A type that a program describes, or a slice of it after a header; what the program says is composed beside it, bit
    /// by bit.
    fn programmed(
        &mut self,
        name: &'static str,
        weight: usize,
        slice: Option<(usize, usize)>,
        composed: Composed,
    ) {
        let words = composed.bits.len();
        let program = composed.program.finish();
        let (ty, id) = self.heap.types().register_program(words * WORD, program.bytes()).unwrap();
        let (header, n) = slice.unwrap_or((0, 1));
        let size = (header + words * n) * WORD;
        let sliced =
            self.mutator.types().type_for(size, Scan::Program { header: header as u8, program: id }).unwrap();
        assert_eq!(self.heap.space().layouts().shape(sliced.shape()).kind(), ScanKind::Program);
        assert!(slice.is_some() || sliced == ty);
        let inside: Vec<usize> = (0..words).filter(|&w| composed.bits[w]).collect();
        let slots = (0..n).flat_map(|e| inside.iter().map(move |&s| (header + e * words + s) as u32));
        self.add(name, weight, sliced, slots.collect(), Slots::Precise);
    }

    fn pointer_free(&mut self, name: &'static str, weight: usize, bytes: usize) {
        let ty = self.heap.types().register(&TypeDescriptor::no_pointers(bytes).unwrap()).unwrap();
        self.add(name, weight, ty, Vec::new(), Slots::Precise);
    }

    fn conservative(&mut self, name: &'static str, weight: usize, words: usize) {
        let ty = self.heap.types().register(&TypeDescriptor::conservative(words * WORD).unwrap()).unwrap();
        assert_eq!(self.heap.space().layouts().shape(ty.shape()).kind(), ScanKind::Conservative);
        let slots = (0..words as u32).filter(|w| w % 3 != 1).collect();
        self.add(name, weight, ty, slots, Slots::Ambiguous);
    }

    fn traced(&mut self, name: &'static str, weight: usize, words: usize, holds: Slots) {
        let trace = match holds {
            Slots::Precise => trace_precise,
            Slots::Ambiguous => trace_ambiguous,
        };
        let described = TypeDescriptor::traced(words * WORD, trace).unwrap();
        assert!(matches!(described.layout(), Layout::Trace(_)));
        let ty = self.heap.types().register(&described).unwrap();
        self.add(name, weight, ty, (1..1 + words as u32 * 2 / 3).collect(), holds);
        self.all.last_mut().unwrap().counted = true;
    }
}

impl Maker<'_> {
    fn scanned(&mut self, name: &'static str, words: usize, scan: Scan, slots: Vec<u32>, holds: Slots) {
        let ty = self.mutator.types().type_for(words * WORD, scan).unwrap();
        self.add(name, 2, ty, slots, holds);
    }

    /// Words by a mask, or the first ones, may be pointers.
    fn ambiguous(&mut self, words: usize, slots: Vec<u32>) {
        let mask = Scan::AmbiguousMask(mask_of(&slots));
        self.scanned("ambiguous mask", words, mask, slots, Slots::Ambiguous);
        let prefix = words * 2 / 3;
        let slots = (0..prefix as u32).collect();
        self.scanned("ambiguous prefix", words, Scan::AmbiguousPrefix(prefix), slots, Slots::Ambiguous);
    }

    /// All words from the second on are pointers, by a function that puts each next one off.
    fn put_off(&mut self, words: usize, holds: Slots) {
        let function = match holds {
            Slots::Precise => trace_on::<true>,
            Slots::Ambiguous => trace_on::<false>,
        };
        let slots = (1..words as u32).collect();
        self.scanned("traced, put off", words, Scan::Trace { function, data: 1 }, slots, holds);
    }
}

/// A program and, composed independently of it, the bits it means.
#[derive(Clone)]
struct Composed {
    program: Builder<256>,
    bits: Vec<bool>,
}

impl Composed {
    fn new() -> Self {
        Composed { program: Builder::new(), bits: Vec::new() }
    }

    fn words(mut self, n: usize, pointers: bool) -> Self {
        self.program =
            if pointers { self.program.pointers(n as u64) } else { self.program.scalars(n as u64) };
        self.bits.extend(std::iter::repeat_n(pointers, n));
        self
    }

    /// An array of so many others, each so many words apart.
    fn array(mut self, element: &Composed, apart: usize, n: usize) -> Self {
        self.program = self.program.array(element.program.body(), apart as u64, n as u64);
        for _ in 0..n {
            self.bits.extend(&element.bits);
            self.bits.extend(std::iter::repeat_n(false, apart - element.bits.len()));
        }
        self
    }

    /// Something of each: a cell, a row of cells, rows and words around them.
    fn random(rng: &mut Rng, rows: usize) -> Self {
        let cell = Composed::new().words(1 + rng.below(3), true).words(rng.below(3), false);
        let cells = 1 + rng.below(12);
        let row = Composed::new().array(&cell, cell.bits.len() + rng.below(4), cells).words(1, rng.one_in(2));
        let table = Composed::new().words(rng.below(90), false);
        table.array(&row, row.bits.len() + rng.below(70), rows).words(rng.below(3), true).words(1, false)
    }
}

/// Word 0 is how many pointers follow it.
unsafe extern "C" fn trace_precise(object: *mut u8, size: usize, context: *mut TraceContext) {
    // SAFETY: the context is passed on as it came.
    let mut tracer = unsafe { Tracer::from_context(context) };
    // SAFETY: the object has at least one word, and as many more as that says.
    unsafe {
        let words = object.cast::<usize>();
        assert!(load(words) < size / WORD);
        for i in 1..=load(words) {
            tracer.visit(load(words.add(i)));
        }
    }
}

/// The same with words that may point into objects.
unsafe extern "C" fn trace_ambiguous(object: *mut u8, size: usize, context: *mut TraceContext) {
    // SAFETY: the context is passed on as it came.
    let mut tracer = unsafe { Tracer::from_context(context) };
    // SAFETY: as above.
    unsafe {
        let words = object.cast::<usize>();
        assert!(load(words) < size / WORD);
        for i in 1..=load(words) {
            tracer.visit_ambiguous(load(words.add(i)));
        }
    }
}

/// The word `at` is a pointer, and so are all behind it.
unsafe extern "C" fn trace_on<const PRECISE: bool>(
    object: *mut u8,
    size: usize,
    context: *mut TraceContext,
    at: usize,
) {
    // SAFETY: the context is passed on as it came; the object has the word.
    unsafe {
        let mut tracer = Tracer::from_context(context);
        let word = load(object.cast::<usize>().add(at));
        match PRECISE {
            true => tracer.visit(word),
            false => tracer.visit_ambiguous(word),
        }
        if (at + 2) * WORD <= size {
            tracer.again(object, size, at + 1);
        }
    }
}

impl Kinds {
    /// Registers the kinds of a seed.
    pub fn new(heap: &Heap, mutator: &Mutator, rng: &mut Rng) -> Self {
        let mut m = Maker { heap, mutator, all: Vec::new() };
        m.masked("pair", 60, 2, &[0, 1]);
        m.masked("two words, second", 10, 2, &[1]);
        m.masked("one word", 10, 1, &[0]);
        m.masked("three words", 20, 3, &[0, 2]);
        m.masked("four words", 20, 4, &[1, 2, 3]);
        for (name, words) in [("six words", 6), ("13 words", 13), ("64 words", 64)] {
            let slots: Vec<u32> =
                (0..words as u32).filter(|&w| w + 1 == words as u32 || rng.one_in(3)).collect();
            m.masked(name, 12, words, &slots);
        }
        let wide = |words: u32, rng: &mut Rng| -> Vec<u32> {
            (0..words).filter(|&w| w == 63 || w == 64 || w + 1 == words || rng.one_in(5)).collect()
        };
        let slots = wide(70, rng);
        m.masked("70 words", 6, 70, &slots);
        let slots = wide(256, rng);
        m.masked("256 words", 3, 256, &slots);
        let slots = wide(200, rng);
        m.masked("400 words, pointers first", 2, 400, &slots);
        m.masked("large, narrow mask", 1, 4200, &[0, 5, 63]);
        let slots = wide(250, rng);
        m.masked("large, wide mask", 1, 5000 + rng.below(500), &slots);
        for n in [1, 2, 5, 17, 100] {
            m.slice("slice", 6, 0, (1, &[0]), n + rng.below(n));
        }
        m.slice("slice, several pieces", 2, 0, (1, &[0]), 600 + rng.below(2000));
        m.slice("slice after a header", 6, 2, (1, &[0]), 3 + rng.below(20));
        m.slice("slice of triples", 6, 1, (3, &[1]), 1 + rng.below(40));
        m.slice("slice of triples, several pieces", 2, 3, (3, &[0, 2]), 300 + rng.below(600));
        m.slice("slice of wide elements", 2, 1, (70, &[0, 63, 64, 69]), 1 + rng.below(20));
        m.slice("large slice", 1, 0, (1, &[0]), 4097 + rng.below(3000));
        m.slice("large slice after a header", 1, 2, (5, &[0, 4]), 900 + rng.below(500));
        m.slice("large slice of wide elements", 1, 1, (200, &[0, 100, 199]), 25 + rng.below(5));
        m.slice(
            "slice of elements wider than a mask",
            2,
            1,
            (300 + rng.below(700), &[0, 5, 255]),
            1 + rng.below(4),
        );
        m.slice("large slice of elements wider than a mask", 1, 0, (1000 + rng.below(900), &[3, 200]), 9);
        for bytes in [1, 8, 24, 40, 100, 999, 3000] {
            m.pointer_free("pointer-free", 8, bytes + rng.below(bytes));
        }
        m.pointer_free("pointer-free, largest class", 1, heapwood_heap::MAX_SMALL);
        m.pointer_free("pointer-free, smallest large", 1, heapwood_heap::MAX_SMALL + 1);
        m.pointer_free("pointer-free, large", 1, 40_000 + rng.below(50_000));
        for words in [1, 2, 4, 9, 50] {
            m.conservative("conservative", 5, words + rng.below(words));
        }
        m.conservative("conservative, several pieces", 2, 700 + rng.below(1000));
        m.conservative("conservative, large", 1, 4200 + rng.below(2000));
        for _ in 0..4 {
            let composed = Composed::random(rng, 2);
            m.programmed("program", 6, None, composed);
        }
        let composed = Composed::random(rng, 30);
        m.programmed("program, several pieces", 2, None, composed);
        let composed = Composed::new().words(299 + rng.below(100), false).words(1, true);
        m.programmed("program, one pointer far off", 3, None, composed);
        let composed = Composed::random(rng, 400);
        m.programmed("program, large", 1, None, composed);
        let composed = Composed::new().words(5000 + rng.below(3000), true);
        m.programmed("program, large, all pointers", 1, None, composed);
        let composed = Composed::random(rng, 1);
        let n = 1 + rng.below(5);
        m.programmed("slice of programs", 4, Some((1, n)), composed);
        let composed = Composed::random(rng, 60);
        let n = 1 + rng.below(4);
        m.programmed("large slice of programs", 1, Some((2, n)), composed);
        // Of each of these there are never enough for spans of their own.
        for words in 9..25 {
            let slots: Vec<u32> =
                (0..words as u32).filter(|&w| w + 1 == words as u32 || rng.one_in(3)).collect();
            m.masked("rare", 1, words, &slots);
            let inside = [rng.below(words) as u32];
            m.slice("rare slice", 1, 1, (words, &inside), 1 + rng.below(9));
        }
        m.traced("traced", 8, 5 + rng.below(10), Slots::Precise);
        m.traced("traced, large", 1, 4200 + rng.below(300), Slots::Precise);
        m.traced("traced, ambiguous", 6, 6 + rng.below(10), Slots::Ambiguous);
        for words in [2, 6, 40, 256] {
            let slots = (0..words as u32).filter(|&w| w + 1 == words as u32 || rng.one_in(3)).collect();
            m.ambiguous(words, slots);
        }
        m.ambiguous(4200 + rng.below(2000), wide(250, rng));
        m.put_off(4 + rng.below(9), Slots::Precise);
        m.put_off(60 + rng.below(60), Slots::Ambiguous);
        let header = m.all.len();
        m.add(
            "header of an arena",
            0,
            ObjectType::no_pointers(ArenaHeader::BYTES),
            Vec::new(),
            Slots::Precise,
        );
        m.all[header].lies = Storage::Header;
        let ephemeron = m.all.len();
        m.add("ephemeron", 0, ObjectType::no_pointers(4 * WORD), Vec::new(), Slots::Precise);
        let weak_table = m.all.len();
        m.opaque("weak table", 4);
        (0..WEAK_ARRAYS).for_each(|i| m.opaque("array of a weak table", 16 << i));
        m.in_arena(10, 1, vec![0]);
        m.in_arena(30, 2, vec![0, 1]);
        m.in_arena(10, 3, vec![1]);
        m.in_arena(10, 8, (0..8).collect());
        for words in [5, 13, 63, 64, 65, 129, 256] {
            let words = if rng.one_in(2) { words } else { 1 + rng.below(256) };
            let slots = (0..words as u32).filter(|&w| w + 1 == words as u32 || rng.one_in(4)).collect();
            m.in_arena(3, words, slots);
        }
        for (bytes, align) in [(1, 1), (3, 1), (8, 8), (24, 16), (40, 4), (900, 2)] {
            m.data_in_arena(5, bytes + rng.below(bytes), align);
        }
        m.data_in_arena(1, 20_000 + rng.below(90_000), 8);
        let weigh = |in_arenas| {
            let all = m.all.iter().filter(move |k| k.is_in_arena() == in_arenas);
            all.map(|k| k.weight).sum()
        };
        let (weights, in_arenas) = (weigh(false), weigh(true));
        Kinds { all: m.all, weights, header, ephemeron, weak_table, in_arenas }
    }

    /// A kind that lies in the heap, by weight.
    pub fn choose(&self, rng: &mut Rng) -> usize {
        self.choose_of(rng.below(self.weights), false)
    }

    /// A kind that lies in arenas, by weight.
    pub fn choose_in_arena(&self, rng: &mut Rng) -> usize {
        self.choose_of(rng.below(self.in_arenas), true)
    }

    /// That of an array of a weak table with so many places.
    pub fn weak_array(&self, places: usize) -> usize {
        self.weak_table + 1 + places.ilog2() as usize - 3
    }

    fn choose_of(&self, mut at: usize, in_arena: bool) -> usize {
        for (i, kind) in self.all.iter().enumerate().filter(|(_, kind)| kind.is_in_arena() == in_arena) {
            if at < kind.weight {
                return i;
            }
            at -= kind.weight;
        }
        unreachable!("the weights add up")
    }
}
