//! What the form of a layout costs: chains of objects marked, by mask and by program, large arrays scanned, and many
//! layouts of few objects allocated. Nanoseconds an object, the best of five collections; run it several times, since
//! machines vary.
//! `cargo run --release -p heapwood-gc --example layouts`.

use heapwood_gc::{Config, Heap, HeapBox, Mutator, ObjectType};
use heapwood_heap::Scan;
use heapwood_layout::TypeDescriptor;
use heapwood_layout::WORD;
use heapwood_layout::program::{Builder, Program, ProgramBuf};
use std::hint::black_box;
use std::time::Instant;

/// A heap that collects when it is told to, and knows no roots but those registered.
fn quiet() -> HeapBox {
    let config = Config::DEFAULT.conservative_stacks(false).min_heap(4 << 30).background_release(false);
    Heap::create(&heapwood_os::SYSTEM, config).expect("a heap")
}

/// Runs `f` with this thread attached.
fn attached<R>(heap: &HeapBox, f: impl FnOnce(&Mutator) -> R) -> R {
    f(&Mutator::attach(heap, None).expect("a mutator"))
}

fn masked(heap: &HeapBox, program: &ProgramBuf<64>) -> ObjectType {
    let words = program.words() as usize;
    let mut bits = vec![0; words.div_ceil(64)];
    program.program().decode(&mut bits, 0);
    heap.register(&TypeDescriptor::masked(words * WORD, &bits).expect("a mask")).expect("a type")
}

/// Marks a chain of `n` objects, linked by their last word.
fn mark(heap: &HeapBox, ty: ObjectType, n: usize) -> f64 {
    let mut head = vec![0usize].into_boxed_slice();
    // SAFETY: the word stays where it is until the heap has gone or the root was removed below.
    let root = unsafe { heap.add_root_slots(head.as_ptr(), 1) }.expect("a root");
    let best = attached(heap, |m| {
        for _ in 0..n {
            let object = m.allocate(ty).expect("memory").as_ptr() as usize;
            // SAFETY: the last word of the object, and a word of the box; volatile, since the collector reads it.
            unsafe {
                ((object + ty.size - WORD) as *mut usize).write(head[0]);
                (&raw mut head[0]).write_volatile(object);
            }
        }
        let times = (0..5).map(|_| {
            let begin = Instant::now();
            m.collect().unwrap();
            begin.elapsed().as_nanos() as f64 / n as f64
        });
        times.fold(f64::MAX, f64::min)
    });
    assert_eq!(heap.stats().live_objects, n);
    heap.remove_root(root);
    best
}

/// Scans an array of about 200 MiB of elements that a program describes, all of whose pointers are null.
fn scan(what: &str, element: Program) {
    let heap = quiet();
    let bytes = element.words() as usize * WORD;
    let n = (200 << 20) / bytes;
    let (_, program) = heap.register_program(bytes, element.bytes()).expect("a type");
    let mut root = vec![0usize].into_boxed_slice();
    // SAFETY: the word stays where it is as long as the heap.
    unsafe { heap.add_root_slots(root.as_ptr(), 1) }.expect("a root");
    let best = attached(&heap, |m| {
        let size = n * bytes;
        let shape = m.shape_for(size, Scan::Program { header: 0, program }).expect("a shape");
        let array = m.allocate_zeroed(ObjectType { size, shape }).expect("memory").as_ptr() as usize;
        for page in (0..size).step_by(4096) {
            // SAFETY: a word of the array; written, or it would be passed by.
            unsafe { ((array + page) as *mut usize).write_volatile(0) };
        }
        // SAFETY: volatile, since the collector reads it.
        unsafe { (&raw mut root[0]).write_volatile(array) };
        let times = (0..5).map(|_| {
            let begin = Instant::now();
            m.collect().unwrap();
            begin.elapsed().as_secs_f64() * 1e3
        });
        times.fold(f64::MAX, f64::min)
    });
    let nodes = heap.space().nest(program).nodes().len();
    println!(
        "scanned, {n} times {what} ({nodes} nodes): {best:.1} ms, {:.1} ns an element",
        best * 1e6 / n as f64
    );
}

fn main() {
    for words in [10, 32, 66, 130, 200, 256] {
        for (what, program) in [
            ("two pointers at the end", Builder::<64>::new().scalars(words - 2).pointers(2).finish()),
            ("all pointers", Builder::<64>::new().pointers(words).finish()),
        ] {
            let n = 2_500_000 / words as usize;
            let heap = quiet();
            let by_mask = mark(&heap, masked(&heap, &program), n);
            let heap = quiet();
            let (ty, _) = heap.register_program(words as usize * WORD, program.bytes()).expect("a type");
            let by_program = mark(&heap, ty, n);
            println!("marked, {words} words, {what}: by mask {by_mask:.1}, by program {by_program:.1}");
        }
    }
    for words in [10, 66, 258, 1026] {
        for (what, program) in [
            ("two pointers at the end", Builder::<64>::new().scalars(words - 2).pointers(2).finish()),
            ("every other a pointer", {
                let pair = Builder::<8>::new().scalars(1).pointer();
                Builder::<64>::new().array(pair.body(), 2, words / 2).finish()
            }),
        ] {
            let in_spans = |mixed| {
                let heap = quiet();
                heap.space().set_always_shared(mixed);
                let (ty, _) = heap.register_program(words as usize * WORD, program.bytes()).expect("a type");
                mark(&heap, ty, 2_500_000 / words as usize)
            };
            let (own, mixed) = (in_spans(false), in_spans(true));
            println!(
                "marked, {words} words, {what}, by program: in spans of their own {own:.1}, in mixed ones {mixed:.1}"
            );
        }
    }
    let mut mixed = 1u64;
    let mut bits = |_| {
        mixed = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) + 1;
        mixed
    };
    let long =
        (0..4095).map(&mut bits).fold(Builder::<40_000>::new(), |all, block| all.bits(block, 64)).finish();
    scan("2^18 - 64 mixed words", long.program());
    let block = Builder::<16>::new().bits(bits(0), 64);
    let pattern = Builder::<32>::new().array(block.body(), 64, 4095).finish();
    scan("[4095][64] mixed words", pattern.program());
    scan("{ ptr [299]word }", Builder::<16>::new().pointer().scalars(299).finish().program());
    scan("{ ptr word }", Builder::<16>::new().pointer().scalars(1).finish().program());
    for layouts in [100, 1000, 4000u64] {
        let heap = quiet();
        let types: Vec<ObjectType> = (0..layouts)
            .map(|k| {
                let mask = [(k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20 & 0xffff) | 1 << 15 | (k & 0x7fff)];
                heap.register(&TypeDescriptor::masked(16 * WORD, &mask).expect("a mask")).expect("a type")
            })
            .collect();
        let allocate = |m: &Mutator, ty| {
            black_box(m.allocate(ty).expect("memory"));
        };
        attached(&heap, |m| {
            let begin = Instant::now();
            (0..4).for_each(|_| types.iter().for_each(|&ty| allocate(m, ty)));
            let few = begin.elapsed().as_nanos() as f64 / (4 * layouts) as f64;
            let pages = heap.stats().in_use_bytes / heapwood_pages::PAGE_SIZE;
            (0..1000).for_each(|_| allocate(m, types[0]));
            let begin = Instant::now();
            (0..1_000_000).for_each(|_| allocate(m, types[0]));
            let own = begin.elapsed().as_nanos() as f64 / 1e6;
            println!(
                "allocated, {layouts} layouts of 16 words, 4 objects each: {few:.1} ({pages} pages in use); one of \
                 them with spans of its own: {own:.1}"
            );
        });
    }
}
