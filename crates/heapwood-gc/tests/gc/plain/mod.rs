//! Stores without the barrier of a known object: stores whose object is not named, plain stores that were announced for a moment
//! (`stores`), and objects that take plain stores as long as a fiber runs (`begun`). Each object of each kind that holds pointers.

pub(crate) mod begun;
pub(crate) mod stores;

use core::ptr::NonNull;
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Mutator, Tracer, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::{TraceContext, TypeDescriptor};

/// A heap whose full collections come when they are asked for.
pub(crate) fn quiet(generational: Generational) -> Config {
    PRECISE.min_heap(256 << 20).background_release(false).generational(generational)
}

/// How an object's pointers are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Slice,
    Elements,
    Mask,
    Conservative,
    Trace,
    Program,
}

pub(crate) const KINDS: [Kind; 6] =
    [Kind::Slice, Kind::Elements, Kind::Mask, Kind::Conservative, Kind::Trace, Kind::Program];

/// Words of an object of each kind; every even one may hold a pointer.
pub(crate) const STACK: usize = 40;

unsafe extern "C" fn trace_all(object: *mut u8, size: usize, context: *mut TraceContext) {
    // SAFETY: the object has as many words; the context is passed on as it came.
    let mut tracer = unsafe { Tracer::from_context(context) };
    for i in (0..size / WORD).step_by(2) {
        // SAFETY: as above; even words hold objects or null.
        unsafe { tracer.visit(words::load(object.cast::<usize>().add(i))) };
    }
}

/// A new object of a kind.
pub(crate) fn stack(mutator: &Mutator, kind: Kind) -> usize {
    let types = mutator.heap().types();
    let scan = |scan| mutator.types().type_for(STACK * WORD, scan).unwrap();
    let ty = match kind {
        Kind::Slice => scan(slice_scan(&TypeDescriptor::masked(WORD, &[1]).unwrap(), 0).unwrap()),
        Kind::Elements => scan(slice_scan(&TypeDescriptor::masked(2 * WORD, &[1]).unwrap(), 0).unwrap()),
        Kind::Mask => masked(mutator.heap(), STACK, &(0..STACK).step_by(2).collect::<Vec<_>>()),
        Kind::Conservative => types.register(&TypeDescriptor::conservative(STACK * WORD).unwrap()).unwrap(),
        Kind::Trace => types.register(&TypeDescriptor::traced(STACK * WORD, trace_all).unwrap()).unwrap(),
        // 1 bit set, 1 clear, the last 2 another 19 times.
        Kind::Program => types.register_program(STACK * WORD, &[0x02, 0x01, 0x82, 0x13, 0x00]).unwrap().0,
    };
    new(mutator, ty)
}

/// Whether an object is there that has this number.
pub(crate) fn is_there(mutator: &Mutator, object: usize, number: usize) -> bool {
    mutator.find(object).is_some_and(|found| found.base.get() == object) && get(object, 2) == number
}

/// A node with a number, to which nothing leads yet.
pub(crate) fn numbered(mutator: &Mutator, number: usize) -> usize {
    let node = new(mutator, node_type(mutator.heap()));
    put(node, 2, number);
    node
}

/// The address of an object, as the collector's functions take it.
pub(crate) fn at(object: usize) -> NonNull<u8> {
    NonNull::new(object as *mut u8).unwrap()
}
