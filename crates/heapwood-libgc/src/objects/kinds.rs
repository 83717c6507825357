//! Kinds of objects: libgc's, by their numbers, and those that the program makes with a mark descriptor. Objects of a made kind
//! have a trace function, which follows the kind's descriptor. Invariant: a shape belongs to one kind; a kind, once made, stays.

use crate::descriptors;
use crate::exports::types::Ptr;
use crate::objects::alloc::{self, Plain};
use crate::objects::interior;
use crate::process::mutator;
use crate::process::stress;
use crate::report;
use crate::settings::live;
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use heapwood_gc::{AllocError, Mutator, ObjectType};
use heapwood_heap::{MAX_SHAPES, Scan, ShapeId};
use heapwood_layout::TraceContext;

/// Objects without pointers.
pub(crate) const ATOMIC: u32 = 0;
/// Objects in which each word may be a pointer.
pub(crate) const NORMAL: u32 = 1;
/// Both, held.
pub(crate) const HELD_NORMAL: u32 = 2;
pub(crate) const HELD_ATOMIC: u32 = 3;
/// The first number that a program gets.
const FIRST_MADE: u32 = 4;
/// As many kinds has libgc.
const MOST: usize = 24;
/// Typed objects, whose descriptors are in their last word, and arrays of them.
pub(crate) const TYPED: u32 = MOST as u32;
pub(crate) const ARRAY: u32 = MOST as u32 + 1;

/// A kind that a program has made.
struct Kind {
    descriptor: AtomicUsize,
    adds_size: AtomicBool,
}

static KINDS: [Kind; MOST] =
    [const { Kind { descriptor: AtomicUsize::new(0), adds_size: AtomicBool::new(false) } }; MOST];
static COUNT: AtomicU32 = AtomicU32::new(FIRST_MADE);

/// The kind of each shape with a trace function; 0 for none.
static OF_SHAPE: [AtomicU8; MAX_SHAPES] = [const { AtomicU8::new(0) }; MAX_SHAPES];

/// Room for the lists of free objects, which nobody reads.
static LISTS: [AtomicUsize; MOST * 2] = [const { AtomicUsize::new(0) }; MOST * 2];
static LIST_COUNT: AtomicUsize = AtomicUsize::new(0);

/// `GC_new_free_list`: a name for a kind to come.
pub(crate) fn new_free_list() -> *mut Ptr {
    let at = LIST_COUNT.fetch_add(1, Ordering::Relaxed) % LISTS.len();
    LISTS[at].as_ptr().cast()
}

/// `GC_new_kind`.
pub(crate) fn new_kind(_list: *mut Ptr, descriptor: usize, adds_size: c_int, _clears: c_int) -> c_uint {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let Some(kind) = KINDS.get(number as usize) else {
        report::abort(format_args!(
            "the program has made more than {} kinds of objects",
            MOST as u32 - FIRST_MADE
        ));
    };
    kind.descriptor.store(descriptor, Ordering::Relaxed);
    kind.adds_size.store(adds_size != 0, Ordering::Release);
    number
}

/// The descriptor of an object of a made kind.
fn descriptor(kind: u32, bytes: usize) -> usize {
    let kind = &KINDS[kind as usize];
    let adds = if kind.adds_size.load(Ordering::Acquire) { bytes } else { 0 };
    kind.descriptor.load(Ordering::Relaxed).wrapping_add(adds)
}

unsafe extern "C" fn trace(object: *mut u8, bytes: usize, context: *mut TraceContext, kind: usize) {
    let at = object as usize;
    // SAFETY: the collector calls this with an object of the kind; its descriptors are the program's promise.
    unsafe {
        match kind as u32 {
            TYPED => descriptors::scan(at, descriptors::of_typed(at, bytes), context),
            ARRAY => descriptors::scan_array(at, bytes, context),
            kind => descriptors::scan(at, descriptor(kind, bytes), context),
        }
    }
}

/// The kind of an object with this shape, without whether it is held.
pub(crate) fn of(shape: Option<ShapeId>, pointer_free: bool) -> u32 {
    match shape.map_or(0, |shape| OF_SHAPE[shape.index()].load(Ordering::Relaxed)) {
        0 if pointer_free => ATOMIC,
        0 => NORMAL,
        kind => kind.into(),
    }
}

/// The type of objects of so many bytes of a made kind.
fn type_of(mutator: &Mutator, bytes: usize, kind: u32) -> Result<ObjectType, AllocError> {
    let scan = Scan::Trace { function: trace, data: kind as usize };
    let ty = mutator.types().type_for(bytes, scan)?;
    OF_SHAPE[ty.shape().index()].store(kind as u8, Ordering::Relaxed);
    Ok(ty)
}

/// A chain of objects of `n` bytes of a kind, up to so many bytes: the first.
pub(crate) fn chain(n: usize, kind: u32, most: usize) -> Ptr {
    let bytes = interior::padded(n);
    if bytes > isize::MAX as usize {
        return alloc::out_of_memory(n);
    }
    let mutator = prepared();
    let ty = match kind {
        ATOMIC => Ok(ObjectType::no_pointers(bytes)),
        NORMAL => Ok(ObjectType::conservative(bytes)),
        _ => type_of(mutator, bytes, kind),
    };
    alloc::object_or_oom(n, ty.and_then(|ty| mutator.allocate_chain(ty, most)).map(|chain| chain.first))
}

/// The calling thread's mutator, before it allocates on a slow path.
fn prepared() -> &'static Mutator {
    let mutator = mutator();
    live::apply(mutator.heap());
    stress::step(mutator);
    mutator
}

/// An object of `n` bytes and so many more, of a kind. The bytes that are added lie at the end of the object.
pub(crate) fn allocate_with(n: usize, more: usize, kind: u32) -> Ptr {
    match kind {
        ATOMIC => return alloc::plain(Plain::Atomic, n),
        NORMAL => return alloc::plain(Plain::Normal, n),
        _ => {}
    }
    let bytes = interior::padded(n).saturating_add(more);
    if bytes > isize::MAX as usize {
        return alloc::out_of_memory(n);
    }
    let mutator = prepared();
    alloc::object_or_oom(n, type_of(mutator, bytes, kind).and_then(|ty| mutator.allocate(ty)))
}

/// An object of a kind.
pub(crate) fn allocate(n: usize, kind: u32) -> Ptr {
    allocate_with(n, 0, kind)
}

/// The kind of objects that are made alike and not held.
pub(crate) fn without_hold(kind: c_int) -> u32 {
    match kind as u32 {
        HELD_NORMAL => NORMAL,
        HELD_ATOMIC => ATOMIC,
        kind if kind < COUNT.load(Ordering::Acquire) => kind,
        _ => report::abort(format_args!("{kind} is no kind of objects: GC_new_kind gives their numbers")),
    }
}

/// Whether objects of this kind are held.
pub(crate) fn is_of_held(kind: c_int) -> bool {
    matches!(kind as u32, HELD_NORMAL | HELD_ATOMIC)
}
