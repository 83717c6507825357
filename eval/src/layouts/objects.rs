//! Heaps that objects are allocated from: of each type, and as many bytes without pointers; in one a type has spans of its
//! own, in the other all types share them. Invariant: what is timed is allocation alone; every stretch begins behind a
//! collection that leaves nothing, and ends before another is due. No object is ever written, so all memory stays as the
//! kernel gave it: zero.

use super::attached::Attached;
use super::forms::{Kind, kind, mask, unroll};
use super::types::Type;
use crate::timing::{Clock, Series};
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{AllocError, Config, Mutator, ObjectType};
use heapwood_heap::{Address, ObjectRef, Scan, ScanKind, SizeClass, Space};
use heapwood_layout::{TypeDescriptor, WORD};
use heapwood_report::CommandError;
use std::hint::black_box;
use std::ptr::NonNull;

/// A stretch allocates about so many bytes, which caches hold.
const BYTES: usize = 2 << 20;
/// And so many objects at most.
const MOST: usize = 1 << 16;
/// Spans that are filled before.
const SPANS: usize = 2;

const CONFIG: Config = Config::DEFAULT
    .min_heap(64 << 20)
    .address_space(1 << 30)
    .background_release(false)
    .conservative_stacks(false)
    .generational(Generational::Off);

/// Layouts are written for so many objects in turn.
const CELLS: usize = 8;

/// A type, and the bytes without pointers that it is compared with.
pub(super) struct Pair {
    typed: ObjectType,
    bare: ObjectType,
    /// Both are made zeros, because the heap makes those of the type so.
    pub(super) zeroed: bool,
    pub(super) typed_ns: Series,
    pub(super) bare_ns: Series,
    /// Those that have a size class, and cells in spans.
    pub(super) span: Option<SpanCost>,
    pub(super) rare: Option<Rare>,
}

/// What it takes to take a span.
pub(super) struct SpanCost {
    pub(super) cells: usize,
    pub(super) ns: Series,
}

/// The type in the heap in which types share spans, if it does.
pub(super) struct Rare {
    typed: ObjectType,
    pub(super) allocate_ns: Series,
    /// What is written for the layout of an object, alone.
    pub(super) write_ns: Series,
}

pub(super) struct Objects {
    own: Attached,
    mixed: Attached,
    pub(super) pairs: Vec<Pair>,
}

/// Whose mutator writes every cell whole.
fn heap() -> Result<Attached, CommandError> {
    let attached = Attached::new(CONFIG)?;
    // SAFETY: what would be written into each cell are nulls, and cells have never held anything but zeros.
    unsafe { attached.mutator().write_values_whole() };
    Ok(attached)
}

impl Objects {
    pub(super) fn new(types: &'static [Type]) -> Result<Objects, CommandError> {
        let (own, mixed) = (heap()?, heap()?);
        mixed.heap().space().set_always_shared(true);
        let pairs = types.iter().map(|ty| Pair::new(&own, &mixed, ty)).collect::<Result<_, _>>()?;
        Ok(Objects { own, mixed, pairs })
    }

    /// A stretch of every type.
    pub(super) fn round(&mut self, clock: &Clock, measuring: bool) -> Result<(), CommandError> {
        let Objects { own, mixed, pairs } = self;
        let mutator = own.mutator();
        for pair in pairs {
            let n = times(pair.typed.size());
            let typed = time(clock, own, n, pair.typed, |ty| mutator.allocate(ty))?;
            let bare = match pair.zeroed {
                true => time(clock, own, n, pair.bare, |ty| mutator.allocate_zeroed(ty))?,
                false => time(clock, own, n, pair.bare, |ty| mutator.allocate(ty))?,
            };
            if measuring {
                pair.typed_ns.push(typed);
                pair.bare_ns.push(bare);
            }
            if let (Some(span), Some(class)) = (&mut pair.span, SizeClass::of(pair.typed.size())) {
                let (spans, cell) = (times(class.span_pages().bytes()), class.cell_size());
                let ns = time(clock, own, spans, pair.typed, |ty| use_up(mutator, ty, cell))?;
                if measuring {
                    span.ns.push(ns);
                }
            }
            if let Some(rare) = &mut pair.rare {
                let ns = time(clock, mixed, n, rare.typed, |ty| mixed.mutator().allocate(ty))?;
                if measuring {
                    rare.allocate_ns.push(ns);
                }
                let (space, shape) = (mixed.heap().space(), rare.typed.shape());
                let mut cells = [ObjectRef::new(0); CELLS];
                for cell in &mut cells {
                    *cell = mixed.mutator().allocate(rare.typed).map_err(CommandError::run)?.into();
                }
                rare.write_ns.round(clock, measuring, |times| {
                    for k in 0..times {
                        // SAFETY: cells that were allocated for the type just now, by this thread, the heap's only one.
                        unsafe { black_box(space).layouts().write_only_layout(shape, cells[k % CELLS]) };
                    }
                });
            }
        }
        Ok(())
    }
}

impl Pair {
    fn new(own: &Attached, mixed: &Attached, ty: &Type) -> Result<Pair, CommandError> {
        let (typed, zeroed) = Self::typed(own, ty)?;
        let bare = TypeDescriptor::no_pointers(typed.size()).map_err(CommandError::run)?;
        let bare = own.heap().register(&bare).map_err(CommandError::run)?;
        let span = SizeClass::of(typed.size())
            .map(|class| SpanCost { cells: class.span_cells(), ns: Series::new() });
        let rare = Rare::new(mixed, ty)?;
        let (typed_ns, bare_ns) = (Series::new(), Series::new());
        Ok(Pair { typed, bare, zeroed, typed_ns, bare_ns, span, rare })
    }

    /// The type in a heap, and whether its objects are made zeros.
    fn typed(heap: &Attached, ty: &Type) -> Result<(ObjectType, bool), CommandError> {
        let (mutator, heap) = (heap.mutator(), heap.heap());
        let (size, element) = (ty.words() * WORD, ty.element().map_err(CommandError::run)?);
        let element_bytes = ty.element_words() * WORD;
        Ok(match (kind(ty), ty.elements) {
            (Kind::Mask, 1) => {
                let described =
                    TypeDescriptor::masked(size, &unroll(&element.program())).map_err(CommandError::run)?;
                // Small objects come as they are, to be written by whoever asked for them; large ones do not.
                (heap.register(&described).map_err(CommandError::run)?, SizeClass::of(size).is_none())
            }
            (Kind::Program, 1) => {
                let typed = heap.register_program(size, element.bytes()).map_err(CommandError::run)?.0;
                (typed, SizeClass::of(size).is_none())
            }
            (kind, _) => {
                let scan = match kind {
                    Kind::Mask => {
                        Scan::Slice { header: 0, words: ty.element_words(), mask: mask(&element.program()) }
                    }
                    Kind::Program => {
                        let (_, program) = heap
                            .register_program(element_bytes, element.bytes())
                            .map_err(CommandError::run)?;
                        Scan::Program { header: 0, program }
                    }
                };
                (mutator.type_for(size, scan).map_err(CommandError::run)?, true)
            }
        })
    }
}

impl Rare {
    /// The type in a heap in which types share spans; `None` if this one does not even there. What is written for it was
    /// found to be its pointers.
    fn new(mixed: &Attached, ty: &Type) -> Result<Option<Rare>, CommandError> {
        let (typed, _) = Pair::typed(mixed, ty)?;
        if SizeClass::of(typed.size()).is_none() {
            return Ok(None);
        }
        let object = mixed.mutator().allocate(typed).map_err(CommandError::run)?.as_ptr() as usize;
        let space = mixed.heap().space();
        let span = space.find_span(Address::new(object)).expect("an object lies in a span");
        let expected = unroll(&ty.program().map_err(CommandError::run)?.program());
        // SAFETY: only asked of an object that was allocated just now, in a span of numbers.
        let number = || unsafe { space.layouts().numbered_entry(ObjectRef::new(object)) }.shape();
        match space.layouts().shape(span.shape()).kind() {
            ScanKind::Numbered if number() == typed.shape() => {}
            ScanKind::Bits if bits(space, object, expected.len(), ty.words()) == expected => {}
            ScanKind::Bits | ScanKind::Numbered => {
                return Err(CommandError::run(format!("{}: a heap writes another layout", ty.name)));
            }
            _ => return Ok(None),
        }
        Ok(Some(Rare { typed, allocate_ns: Series::new(), write_ns: Series::new() }))
    }
}

/// The pointer bits of an object of so many words, in `len` words.
fn bits(space: &Space, object: usize, len: usize, words: usize) -> Vec<u64> {
    let mut bits = vec![0; len];
    let mut note = |slot: usize| bits[(slot - object) / WORD / 64] |= 1 << ((slot - object) / WORD % 64);
    // SAFETY: the object exists, in a span of bits.
    unsafe { space.layouts().pointer_bits().for_each(object..object + words * WORD, &mut note) };
    bits
}

/// Takes a span, and all its cells at once.
fn use_up(mutator: &Mutator, ty: ObjectType, cell: usize) -> Result<NonNull<u8>, AllocError> {
    let first = mutator.reserve_slow(ty.shape(), cell)?;
    let buffer = mutator.buffer(ty.shape());
    // SAFETY: all that the run has, which nobody reads.
    unsafe { buffer.commit(first, buffer.room()) };
    Ok(first)
}

/// How many objects of so many bytes a stretch allocates.
fn times(bytes: usize) -> usize {
    (BYTES / bytes).clamp(1, MOST)
}

/// Nanoseconds an operation that allocates, done so many times. The same is done once before, so that caches hold the
/// memory whoever had it last.
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
        heap.space().finish_sweep();
        // A layout has spans of its own once it has filled one that it shares.
        some(SizeClass::of(ty.size()).map_or(1, |class| class.span_cells() * SPANS))
            .map_err(CommandError::run)?;
        let collections = heap.stats().collections;
        let (took, done) = clock.time(|| some(times));
        done.map_err(CommandError::run)?;
        ns = took;
        if heap.stats().collections != collections {
            return Err(CommandError::run("a collection came while allocation was timed"));
        }
    }
    Ok(ns / times as f64)
}
