//! Heaps for the allocation of objects of each type, and of pointer-free objects of the same size. In one heap a type
//! has its own spans, in the other all types share them. Invariant: only allocation is timed. Every stretch begins
//! after a collection that leaves nothing, and ends before the next one is due. No object is ever written, so all
//! memory stays zero.

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

/// The objects that layouts are written for in turn.
const CELLS: usize = 8;

/// A type, and the pointer-free object that it is compared with.
pub(super) struct Pair {
    typed: ObjectType,
    bare: ObjectType,
    /// Both are zeroed, because the heap zeroes the type's objects.
    pub(super) zeroed: bool,
    pub(super) typed_ns: Series,
    pub(super) bare_ns: Series,
    /// The types with a size class, and cells in spans.
    pub(super) span: Option<SpanCost>,
    pub(super) rare: Option<Rare>,
}

/// Nanoseconds to take a span.
pub(super) struct SpanCost {
    pub(super) cells: usize,
    pub(super) ns: Series,
}

/// The type in the heap with shared spans, if it shares them.
pub(super) struct Rare {
    typed: ObjectType,
    pub(super) allocate_ns: Series,
    /// Nanoseconds to write the layout of an object.
    pub(super) write_ns: Series,
}

pub(super) struct Objects {
    own: Attached,
    mixed: Attached,
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
                        // SAFETY: this thread, the heap's only one, allocated the cells for the type just now.
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
        let bare = own.heap().types().register(&bare).map_err(CommandError::run)?;
        let span = SizeClass::of(typed.size())
            .map(|class| SpanCost { cells: class.span_cells(), ns: Series::new() });
        let rare = Rare::new(mixed, ty)?;
        let (typed_ns, bare_ns) = (Series::new(), Series::new());
        Ok(Pair { typed, bare, zeroed, typed_ns, bare_ns, span, rare })
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

impl Rare {
    /// The type in a heap with shared spans. `None` if the type has its own spans there, too. Its layout was checked.
    fn new(mixed: &Attached, ty: &Type) -> Result<Option<Rare>, CommandError> {
        let (typed, _) = Pair::typed(mixed, ty)?;
        if SizeClass::of(typed.size()).is_none() {
            return Ok(None);
        }
        let object = mixed.mutator().allocate(typed).map_err(CommandError::run)?.as_ptr() as usize;
        let space = mixed.heap().space();
        let span = space.find_span(Address::new(object)).expect("an object lies in a span");
        let expected = unroll(&ty.program().map_err(CommandError::run)?.program());
        // SAFETY: the object was allocated just now, in a span with numbers.
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

/// The pointer bits of an object, in `len` words.
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
    // SAFETY: all cells of the run, which are never read.
    unsafe { buffer.commit(first, buffer.room()) };
    Ok(first)
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
