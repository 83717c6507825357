//! A heap that objects are allocated from: of each type, and as many bytes without pointers. Invariant: what is timed is
//! allocation alone, in spans of the type's own; every stretch begins behind a collection that leaves nothing, and ends
//! before another is due. No object is ever written, so all memory stays as the kernel gave it: zero.

use super::forms::{Kind, kind, mask, unroll};
use super::stretch::Stretch;
use super::types::Type;
use crate::failure::Failure;
use heapwood_gc::{AllocError, Config, Heap, HeapBox, Mutator, ObjectType};
use heapwood_heap::{Scan, SizeClass};
use heapwood_layout::{TypeDescriptor, WORD};
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Instant;

/// A stretch allocates about so many bytes, which caches hold.
const BYTES: usize = 2 << 20;
/// And so many objects at most.
const MOST: usize = 1 << 16;
/// Spans that are filled before.
const SPANS: usize = 2;

const CONFIG: Config = Config {
    min_heap: 64 << 20,
    reserve: Some(1 << 30),
    background_release: false,
    conservative_stacks: false,
    ..Config::DEFAULT
};

/// A type, and the bytes without pointers that it is compared with.
pub(super) struct Pair {
    typed: ObjectType,
    bare: ObjectType,
    /// Both are made zeros, because the heap makes those of the type so.
    pub(super) zeroed: bool,
    pub(super) typed_ns: Stretch,
    pub(super) bare_ns: Stretch,
}

pub(super) struct Objects {
    // Detached first.
    thread: Attached,
    pub(super) pairs: Vec<Pair>,
    heap: HeapBox,
}

/// This thread's mutator.
struct Attached(NonNull<Mutator>);

impl Drop for Attached {
    fn drop(&mut self) {
        // SAFETY: it was attached on this thread, which a pointer does not leave, to a heap that is dropped later; nobody
        // uses it any more.
        unsafe { Mutator::detach(self.0) };
    }
}

impl Attached {
    fn mutator(&self) -> &Mutator {
        // SAFETY: attached until it is dropped.
        unsafe { self.0.as_ref() }
    }
}

impl Objects {
    pub(super) fn new(types: &'static [Type]) -> Result<Objects, Failure> {
        let heap = Heap::create(&heapwood_os::SYSTEM, CONFIG).map_err(Failure::run)?;
        let thread = Attached(Mutator::attach(&heap, None).map_err(Failure::run)?);
        let pairs =
            types.iter().map(|ty| Pair::new(&heap, thread.mutator(), ty)).collect::<Result<_, _>>()?;
        // SAFETY: what would be written into each cell are nulls, and cells have never held anything but zeros.
        unsafe { thread.mutator().write_values_whole() };
        Ok(Objects { thread, pairs, heap })
    }

    /// A stretch of every type.
    pub(super) fn round(&mut self, measuring: bool) -> Result<(), Failure> {
        let Objects { thread, pairs, heap } = self;
        let mutator = thread.mutator();
        for pair in pairs {
            let typed = time(heap, mutator, pair.typed, |ty| mutator.allocate(ty))?;
            let bare = match pair.zeroed {
                true => time(heap, mutator, pair.bare, |ty| mutator.allocate_zeroed(ty))?,
                false => time(heap, mutator, pair.bare, |ty| mutator.allocate(ty))?,
            };
            if measuring {
                pair.typed_ns.push(typed);
                pair.bare_ns.push(bare);
            }
        }
        Ok(())
    }
}

impl Pair {
    fn new(heap: &Heap, mutator: &Mutator, ty: &Type) -> Result<Pair, Failure> {
        let (size, element) = (ty.words() * WORD, ty.element().map_err(Failure::run)?);
        let element_bytes = ty.element_words() * WORD;
        let (typed, zeroed) = match (kind(ty), ty.elements) {
            (Kind::Mask, 1) => {
                let described =
                    TypeDescriptor::masked(size, &unroll(&element.program())).map_err(Failure::run)?;
                // Small objects come as they are, to be written by whoever asked for them; large ones do not.
                (heap.register(&described).map_err(Failure::run)?, SizeClass::of(size).is_none())
            }
            (Kind::Program, 1) => {
                (heap.register_program(size, element.bytes()).map_err(Failure::run)?.0, true)
            }
            (kind, _) => {
                let scan = match kind {
                    Kind::Mask => {
                        Scan::Slice { header: 0, words: ty.element_words(), mask: mask(&element.program()) }
                    }
                    Kind::Program => {
                        let (_, program) =
                            heap.register_program(element_bytes, element.bytes()).map_err(Failure::run)?;
                        Scan::Program { header: 0, program }
                    }
                };
                let shape = mutator.shape_for(size, scan).map_err(Failure::run)?;
                (ObjectType { size, shape }, true)
            }
        };
        let bare = TypeDescriptor::no_pointers(size).map_err(Failure::run)?;
        let bare = heap.register(&bare).map_err(Failure::run)?;
        Ok(Pair { typed, bare, zeroed, typed_ns: Stretch::new(), bare_ns: Stretch::new() })
    }
}

/// Nanoseconds an object. The same is done once before, so that caches hold the memory whoever had it last.
fn time(
    heap: &Heap,
    mutator: &Mutator,
    ty: ObjectType,
    allocate: impl Fn(ObjectType) -> Result<NonNull<u8>, AllocError>,
) -> Result<f64, Failure> {
    let some = |times: usize| {
        for _ in 0..times {
            black_box(allocate(black_box(ty))?);
        }
        Ok::<_, AllocError>(())
    };
    let (times, mut ns) = ((BYTES / ty.size).clamp(1, MOST), 0.0);
    for _ in 0..2 {
        mutator.collect();
        heap.space().finish_sweep();
        // A layout has spans of its own once it has filled one that it shares.
        some(SizeClass::of(ty.size).map_or(1, |class| class.span_cells() * SPANS)).map_err(Failure::run)?;
        let (collections, begin) = (heap.stats().collections, Instant::now());
        some(times).map_err(Failure::run)?;
        ns = begin.elapsed().as_nanos() as f64;
        if heap.stats().collections != collections {
            return Err(Failure::run("a collection came while allocation was timed"));
        }
    }
    Ok(ns / times as f64)
}
