//! `heapwood-eval types`: what the form of a layout costs: chains of objects marked, by mask and by program, and in spans
//! that layouts share; large arrays scanned; and many layouts of few objects allocated. The best of the rounds is the one
//! to look at where other work runs on the machine; run it several times, since machines vary.

use crate::args::Types;
use crate::attached::Attached;
use crate::timing::{Clock, Series, rounds};
use heapwood_gc::{Config, Heap, HeapBox, Mutator, ObjectType};
use heapwood_heap::Scan;
use heapwood_layout::program::{Builder, Program, ProgramBuf};
use heapwood_layout::{TypeDescriptor, WORD};
use heapwood_report::tables::{number, show, table};
use heapwood_report::{CommandError, Header, Progress, Spread};
use serde::Serialize;
use std::fmt;
use std::hint::black_box;

/// A heap that collects when it is told to, and knows no roots but those registered.
const QUIET: Config = Config::DEFAULT.conservative_stacks(false).min_heap(4 << 30).background_release(false);

/// All words of the objects that are marked in one chain.
const CHAIN: usize = 2_500_000;
/// The bytes of an array that is scanned, nearly.
const ARRAY: usize = 200 << 20;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    marked: Vec<Marked>,
    shared: Vec<Shared>,
    scanned: Vec<Scanned>,
    few: Vec<Few>,
}

/// Nanoseconds an object of a chain, by the form of its layout.
#[derive(Serialize)]
struct Marked {
    words: u64,
    pointers: &'static str,
    mask_ns: Spread,
    program_ns: Spread,
}

/// The same of objects described by programs, in spans of their own and in such as layouts share.
#[derive(Serialize)]
struct Shared {
    words: u64,
    pointers: &'static str,
    own_ns: Spread,
    shared_ns: Spread,
}

/// Nanoseconds an element of a large array of null pointers.
#[derive(Serialize)]
struct Scanned {
    element: &'static str,
    elements: usize,
    /// Of the nest that the collector scans by.
    nodes: usize,
    ns: Spread,
}

/// Nanoseconds an object, while many layouts have four objects each, and of one that has spans of its own.
#[derive(Serialize)]
struct Few {
    layouts: u64,
    few_ns: f64,
    pages_in_use: usize,
    own_ns: f64,
}

/// What rounds of collections are timed by.
struct Timing {
    runs: u32,
    bar: Progress,
    clock: Clock,
}

pub(crate) fn run(args: &Types) -> Result<(), CommandError> {
    let timing = Timing { runs: args.runs.k, bar: Progress::new(), clock: Clock::new() };
    let mut marked = Vec::new();
    for words in [10, 32, 66, 130, 200, 256] {
        for (pointers, program) in [last_two(words), all_pointers(words)] {
            let mask_ns = timing.mark(words, |heap| masked(heap, &program))?;
            let program_ns = timing.mark(words, |heap| programmed(heap, &program))?;
            marked.push(Marked { words, pointers, mask_ns, program_ns });
        }
    }
    let mut shared = Vec::new();
    for words in [10, 66, 258, 1026] {
        for (pointers, program) in [last_two(words), every_other(words)] {
            let in_spans = |shared| {
                timing.mark(words, |heap| {
                    heap.space().set_always_shared(shared);
                    programmed(heap, &program)
                })
            };
            let (own_ns, shared_ns) = (in_spans(false)?, in_spans(true)?);
            shared.push(Shared { words, pointers, own_ns, shared_ns });
        }
    }
    let scanned = scanned(&timing)?;
    timing.bar.show("many layouts".into());
    let few = [100, 1000, 4000].into_iter().map(|layouts| few(&timing.clock, layouts));
    let few = few.collect::<Result<_, CommandError>>()?;
    timing.bar.finish();
    let header = Header::now(format!("heapwood-eval types --runs {}", args.runs.k), args.runs.k);
    args.output.show("types", &Report { header, marked, shared, scanned, few })
}

/// What is told of a program, and the program.
type Named = (&'static str, ProgramBuf<64>);

fn last_two(words: u64) -> Named {
    ("two at the end", Builder::<64>::new().scalars(words - 2).pointers(2).finish())
}

fn all_pointers(words: u64) -> Named {
    ("all", Builder::<64>::new().pointers(words).finish())
}

fn every_other(words: u64) -> Named {
    let pair = Builder::<8>::new().scalars(1).pointer();
    ("every other", Builder::<64>::new().array(pair.body(), 2, words / 2).finish())
}

fn masked(heap: &Heap, program: &ProgramBuf<64>) -> Result<ObjectType, CommandError> {
    let words = program.words() as usize;
    let mut bits = vec![0; words.div_ceil(64)];
    program.program().decode(&mut bits, 0);
    let descriptor = TypeDescriptor::masked(words * WORD, &bits).map_err(CommandError::run)?;
    heap.register(&descriptor).map_err(CommandError::run)
}

fn programmed(heap: &Heap, program: &ProgramBuf<64>) -> Result<ObjectType, CommandError> {
    let bytes = program.words() as usize * WORD;
    Ok(heap.register_program(bytes, program.bytes()).map_err(CommandError::run)?.0)
}

impl Timing {
    /// Marks a chain of objects of so many words, linked by their last; nanoseconds an object.
    fn mark(
        &self,
        words: u64,
        ty: impl Fn(&Heap) -> Result<ObjectType, CommandError>,
    ) -> Result<Spread, CommandError> {
        self.bar.show(format!("marking objects of {words} words"));
        // A root that the heap reads until it goes.
        let mut head = vec![0usize].into_boxed_slice();
        let attached = Attached::alone(QUIET)?;
        let (heap, n) = (attached.heap(), CHAIN / words as usize);
        let ty = ty(heap)?;
        // SAFETY: the word stays where it is until the heap has gone.
        unsafe { heap.add_root_slots(head.as_ptr(), 1) }.map_err(CommandError::run)?;
        for _ in 0..n {
            let object = attached.mutator().allocate(ty).map_err(CommandError::run)?.as_ptr() as usize;
            // SAFETY: the last word of the object, and a word of the box; volatile, since the collector reads it.
            unsafe {
                ((object + ty.size() - WORD) as *mut usize).write(head[0]);
                (&raw mut head[0]).write_volatile(object);
            }
        }
        let ns = self.collections(&attached, n)?;
        match heap.stats().live_objects == n {
            true => Ok(ns),
            false => Err(CommandError::run("a chain lost objects")),
        }
    }

    /// Collections, each over so many.
    fn collections(&self, attached: &Attached<HeapBox>, n: usize) -> Result<Spread, CommandError> {
        let mut series = Series::new();
        rounds(self.runs, &self.bar, 1, |measuring| {
            let (ns, collected) = self.clock.time(|| attached.mutator().collect());
            collected.map_err(CommandError::run)?;
            if measuring {
                series.push(ns / n as f64);
            }
            self.bar.advance();
            Ok(())
        })?;
        Ok(series.spread())
    }

    /// Scans an array of elements that a program describes, all of whose pointers are null.
    fn scan(&self, what: &'static str, element: Program<'_>) -> Result<Scanned, CommandError> {
        self.bar.show(format!("scanning {what}"));
        let mut root = vec![0usize].into_boxed_slice();
        let attached = Attached::alone(QUIET)?;
        let heap = attached.heap();
        let bytes = element.words() as usize * WORD;
        let (elements, size) = (ARRAY / bytes, ARRAY / bytes * bytes);
        let (_, program) = heap.register_program(bytes, element.bytes()).map_err(CommandError::run)?;
        // SAFETY: the word stays where it is as long as the heap.
        unsafe { heap.add_root_slots(root.as_ptr(), 1) }.map_err(CommandError::run)?;
        let m = attached.mutator();
        let ty = m.type_for(size, Scan::Program { header: 0, program }).map_err(CommandError::run)?;
        let array = m.allocate_zeroed(ty).map_err(CommandError::run)?.as_ptr() as usize;
        for page in (0..size).step_by(4096) {
            // SAFETY: a word of the array; written, or it would be passed by.
            unsafe { ((array + page) as *mut usize).write_volatile(0) };
        }
        // SAFETY: volatile, since the collector reads it.
        unsafe { (&raw mut root[0]).write_volatile(array) };
        let ns = self.collections(&attached, elements)?;
        Ok(Scanned { element: what, elements, nodes: heap.space().nest(program).nodes().len(), ns })
    }
}

fn scanned(timing: &Timing) -> Result<Vec<Scanned>, CommandError> {
    let mut mixed = 1u64;
    let mut bits = || {
        mixed = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) + 1;
        mixed
    };
    let long = (0..4095).fold(Builder::<40_000>::new(), |all, _| all.bits(bits(), 64)).finish();
    let block = Builder::<16>::new().bits(bits(), 64);
    let pattern = Builder::<32>::new().array(block.body(), 64, 4095).finish();
    let sparse = Builder::<16>::new().pointer().scalars(299).finish();
    let pair = Builder::<16>::new().pointer().scalars(1).finish();
    Ok(vec![
        timing.scan("2^18 - 64 mixed words", long.program())?,
        timing.scan("[4095][64] mixed words", pattern.program())?,
        timing.scan("{ ptr [299]word }", sparse.program())?,
        timing.scan("{ ptr word }", pair.program())?,
    ])
}

/// Objects of so many layouts of 16 words, 4 of each, and then many of one of them.
fn few(clock: &Clock, layouts: u64) -> Result<Few, CommandError> {
    let attached = Attached::alone(QUIET)?;
    let (heap, m) = (attached.heap(), attached.mutator());
    let register = |k: u64| {
        let mask = [(k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20 & 0xffff) | 1 << 15 | (k & 0x7fff)];
        let descriptor = TypeDescriptor::masked(16 * WORD, &mask).map_err(CommandError::run)?;
        heap.register(&descriptor).map_err(CommandError::run)
    };
    let types: Vec<ObjectType> = (0..layouts).map(register).collect::<Result<_, _>>()?;
    let (few_ns, done) =
        clock.time(|| (0..4).try_for_each(|_| types.iter().try_for_each(|&ty| allocate(m, ty, 1))));
    done?;
    let pages_in_use = heap.stats().in_use_bytes / heapwood_pages::PAGE_SIZE;
    // It has spans of its own once it has filled one that it shares.
    allocate(m, types[0], 1000)?;
    let (own_ns, done) = clock.time(|| allocate(m, types[0], 1_000_000));
    done?;
    Ok(Few { layouts, few_ns: few_ns / (4 * layouts) as f64, pages_in_use, own_ns: own_ns / 1e6 })
}

fn allocate(m: &Mutator, ty: ObjectType, n: usize) -> Result<(), CommandError> {
    for _ in 0..n {
        black_box(m.allocate(ty).map_err(CommandError::run)?);
    }
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.header)?;
        writeln!(
            f,
            "Median (least-most) of {} collections; the least is the one to look at.",
            self.header.runs
        )?;
        let mut marked = table(&["words", "pointers", "by mask", "by program"]);
        for row in &self.marked {
            marked.add_row([
                row.words.to_string(),
                row.pointers.into(),
                show(row.mask_ns, 1.0),
                show(row.program_ns, 1.0),
            ]);
        }
        writeln!(f, "\nChains of objects marked, nanoseconds an object:\n\n{marked}")?;
        let mut shared = table(&["words", "pointers", "in spans of their own", "in shared ones"]);
        for row in &self.shared {
            shared.add_row([
                row.words.to_string(),
                row.pointers.into(),
                show(row.own_ns, 1.0),
                show(row.shared_ns, 1.0),
            ]);
        }
        writeln!(f, "\nThe same by program, nanoseconds an object:\n\n{shared}")?;
        let mut scanned = table(&["element", "elements", "nodes", "ns an element", "ms"]);
        for row in &self.scanned {
            let ms = row.ns.over(1e6 / row.elements as f64);
            let [elements, nodes] = [row.elements, row.nodes].map(|n| n.to_string());
            scanned.add_row([row.element.into(), elements, nodes, show(row.ns, 1.0), show(ms, 1.0)]);
        }
        writeln!(f, "\nArrays of 200 MiB scanned, all of whose pointers are null:\n\n{scanned}")?;
        let mut few = table(&["layouts", "4 objects each", "pages in use", "one with spans of its own"]);
        for row in &self.few {
            let (layouts, pages) = (row.layouts.to_string(), row.pages_in_use.to_string());
            few.add_row([layouts, number(row.few_ns), pages, number(row.own_ns)]);
        }
        writeln!(f, "\nObjects of 16 words allocated, nanoseconds an object:\n\n{few}")
    }
}
