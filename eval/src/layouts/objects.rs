//! A heap for the allocation of objects of each type, and of pointer-free objects of the same size. Invariant: only allocation is timed. Every stretch begins
//! after a collection that leaves nothing, and ends before the next one is due. No object is ever written, so all
//! memory stays zero.

use super::attached::Attached;
use super::forms::{Kind, kind, mask, unroll};
use super::types::Type;
use crate::timing::{Clock, Series};
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{AllocError, Config, ObjectType};
use heapwood_heap::{Scan, SizeClass};
use heapwood_layout::{TypeDescriptor, WORD};
use heapwood_report::CommandError;
use std::hint::black_box;
use std::ptr::NonNull;

/// The bytes that a stretch allocates. They fit into the CPU's caches.
const BYTES: usize = 2 << 20;
/// The most objects of a stretch.
const MOST: usize = 1 << 16;
/// Spans that are filled before the stretch.
const SPANS: usize = 2;

const CONFIG: Config = Config::DEFAULT
    .min_heap(64 << 20)
    .address_space(1 << 30)
    .background_release(false)
    .conservative_stacks(false)
    .generational(Generational::Off);

/// A type, and the pointer-free object that it is compared with.
pub(super) struct Pair {
    typed: ObjectType,
    bare: ObjectType,
    /// Both are zeroed, because the heap zeroes the type's objects.
    pub(super) zeroed: bool,
    pub(super) typed_ns: Series,
    pub(super) bare_ns: Series,
}

pub(super) struct Objects {
    heap: Attached,
    pub(super) pairs: Vec<Pair>,
}

/// A heap whose mutator writes every cell whole.
fn heap() -> Result<Attached, CommandError> {
    let attached = Attached::new(CONFIG)?;
    // SAFETY: the mutator would write nulls, and the cells have always held zeros.
    unsafe { attached.mutator().types().write_values_whole() };
    Ok(attached)
}

impl Objects {
    pub(super) fn new(types: &'static [Type]) -> Result<Objects, CommandError> {
        let heap = heap()?;
        let pairs = types.iter().map(|ty| Pair::new(&heap, ty)).collect::<Result<_, _>>()?;
        Ok(Objects { heap, pairs })
    }

    /// A stretch of every type.
    pub(super) fn round(&mut self, clock: &Clock, measuring: bool) -> Result<(), CommandError> {
        let Objects { heap, pairs } = self;
        let mutator = heap.mutator();
        for pair in pairs {
            let n = times(pair.typed.size());
            let typed = time(clock, heap, n, pair.typed, |ty| mutator.allocate(ty))?;
            let bare = match pair.zeroed {
                true => time(clock, heap, n, pair.bare, |ty| mutator.allocate_zeroed(ty))?,
                false => time(clock, heap, n, pair.bare, |ty| mutator.allocate(ty))?,
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
    fn new(heap: &Attached, ty: &Type) -> Result<Pair, CommandError> {
        let (typed, zeroed) = Self::typed(heap, ty)?;
        let bare = TypeDescriptor::no_pointers(typed.size()).map_err(CommandError::run)?;
        let bare = heap.heap().types().register(&bare).map_err(CommandError::run)?;
        let (typed_ns, bare_ns) = (Series::new(), Series::new());
        Ok(Pair { typed, bare, zeroed, typed_ns, bare_ns })
    }

    /// The type in a heap, and whether its objects are zeroed.
    fn typed(heap: &Attached, ty: &Type) -> Result<(ObjectType, bool), CommandError> {
        let (mutator, heap) = (heap.mutator(), heap.heap());
        let (size, element) = (ty.words() * WORD, ty.element().map_err(CommandError::run)?);
        let element_bytes = ty.element_words() * WORD;
        Ok(match (kind(ty), ty.elements) {
            (Kind::Mask, 1) => {
                let described =
                    TypeDescriptor::masked(size, &unroll(&element.program())).map_err(CommandError::run)?;
                // Small objects are not zeroed: the caller writes them. Large ones are.
                (heap.types().register(&described).map_err(CommandError::run)?, SizeClass::of(size).is_none())
            }
            (Kind::Program, 1) => {
                let typed =
                    heap.types().register_program(size, element.bytes()).map_err(CommandError::run)?.0;
                (typed, SizeClass::of(size).is_none())
            }
            (kind, _) => {
                let scan = match kind {
                    Kind::Mask => {
                        Scan::Slice { header: 0, words: ty.element_words(), mask: mask(&element.program()) }
                    }
                    Kind::Program => {
                        let (_, program) = heap
                            .types()
                            .register_program(element_bytes, element.bytes())
                            .map_err(CommandError::run)?;
                        Scan::Program { header: 0, program }
                    }
                };
                (mutator.types().type_for(size, scan).map_err(CommandError::run)?, true)
            }
        })
    }
}

/// The number of objects of `bytes` bytes in a stretch.
fn times(bytes: usize) -> usize {
    (BYTES / bytes).clamp(1, MOST)
}

/// Nanoseconds an allocating operation, done N times. It runs once before, so that the CPU's caches hold the memory.
fn time(
    clock: &Clock,
    attached: &Attached,
    times: usize,
    ty: ObjectType,
    allocate: impl Fn(ObjectType) -> Result<NonNull<u8>, AllocError>,
) -> Result<f64, CommandError> {
    let (mutator, heap) = (attached.mutator(), attached.heap());
    let some = |times: usize| {
        for _ in 0..times {
            black_box(allocate(black_box(ty))?);
        }
        Ok::<_, AllocError>(())
    };
    let mut ns = 0.0;
    for _ in 0..2 {
        mutator.collect().expect("this thread's own mutator");
        heap.memory().finish_sweep();
        // A layout gets its own spans when it has filled a shared one.
        some(SizeClass::of(ty.size()).map_or(1, |class| class.span_cells() * SPANS))
            .map_err(CommandError::run)?;
        let collections = heap.inspect().stats().collections;
        let (took, done) = clock.time(|| some(times));
        done.map_err(CommandError::run)?;
        ns = took;
        if heap.inspect().stats().collections != collections {
            return Err(CommandError::run("a collection came while allocation was timed"));
        }
    }
    Ok(ns / times as f64)
}
