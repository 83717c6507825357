//! Allocation of objects whose words may all be pointers, or none. The fast path takes the next cell of the thread's allocation
//! buffer; fast_path/golden has its machine code. Invariant: an object's cell has a byte more than was asked for where libgc
//! promises that a pointer to its end keeps it (`interior`).

use crate::exports::types::Ptr;
use crate::objects::interior;
use crate::objects::interior::EXACT;
use crate::process::mutator;
use crate::process::slot;
use crate::process::stress;
use crate::report;
use crate::settings;
use crate::settings::live;
use core::ptr::{null_mut, without_provenance_mut};
use heapwood_gc::{AllocError, ObjectType};
use heapwood_heap::{AllocBuffer, GRANULE, MAX_TABLED, ShapeId, SizeClass, opaque};

/// The two kinds of objects that every heap knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plain {
    /// No word is a pointer; what is in it first is open.
    Atomic,
    /// Each word may be a pointer; it is zero first.
    Normal,
}

impl Plain {
    #[inline(always)]
    const fn shape(self, class: Option<SizeClass>) -> ShapeId {
        match self {
            Plain::Atomic => ShapeId::no_pointers(class),
            Plain::Normal => ShapeId::conservative(class),
        }
    }

    /// The number of the shape of the smallest cells.
    #[inline(always)]
    const fn first(self) -> usize {
        match self {
            Plain::Atomic => const { Plain::Atomic.shape(Some(SizeClass::new(0))).index() },
            Plain::Normal => const { Plain::Normal.shape(Some(SizeClass::new(0))).index() },
        }
    }

    const fn of_size(self, bytes: usize) -> ObjectType {
        match self {
            Plain::Atomic => ObjectType::no_pointers(bytes),
            Plain::Normal => ObjectType::conservative(bytes),
        }
    }
}

/// So many times the size of a granule has an allocation buffer, and so much further away is that of the next class.
const BUFFER_GRANULES: usize = size_of::<AllocBuffer>() / GRANULE;
const _: () = assert!(BUFFER_GRANULES * GRANULE == size_of::<AllocBuffer>());

/// The classes up to that are the numbers of granules, less one.
const _: () = {
    let mut n = 1;
    while n <= EXACT {
        let Some(class) = SizeClass::of(n) else { panic!("a small size has a class") };
        assert!(
            class.index() == (n - 1) / GRANULE && class.cell_size() == (n - 1) / GRANULE * GRANULE + GRANULE
        );
        n += 1;
    }
};

#[inline(always)]
fn allocate(plain: Plain, n: usize) -> Ptr {
    let last = n.wrapping_sub(1);
    if last < EXACT {
        // The compiler would compute both the place of the buffer and the size of the cell by masks of their own, where the
        // processor's addressing has the factor of two between them.
        let before = opaque(without_provenance_mut::<u8>(last & !(GRANULE - 1))).addr();
        let cell = before + GRANULE;
        // SAFETY: the slot leads to buffers of all plain shapes, which are this thread's.
        let buffer = unsafe { &*slot::buffer(plain.first()).wrapping_byte_add(before * BUFFER_GRANULES) };
        if let Some(object) = buffer.peek(cell) {
            // SAFETY: it is what `peek` returned, of the shape's size, and zero where it may hold pointers.
            unsafe { buffer.commit(object, cell) };
            return object.as_ptr().cast();
        }
    }
    allocate_larger(n, plain)
}

/// The same where the first buffer had no cell, or the object is larger.
#[inline(never)]
fn allocate_larger(n: usize, plain: Plain) -> Ptr {
    let bytes = interior::padded(n);
    if bytes.wrapping_sub(1) < MAX_TABLED {
        let class = SizeClass::of_tabled(bytes);
        // SAFETY: as above.
        let buffer = unsafe { &*slot::buffer(plain.shape(Some(class)).index()) };
        if let Some(object) = buffer.peek(class.cell_size()) {
            // SAFETY: as above.
            unsafe { buffer.commit(object, class.cell_size()) };
            return object.as_ptr().cast();
        }
    }
    allocate_slow(plain, n, bytes)
}

#[cold]
#[inline(never)]
fn allocate_slow(plain: Plain, n: usize, bytes: usize) -> Ptr {
    if bytes > isize::MAX as usize {
        return out_of_memory(n);
    }
    let mutator = mutator();
    live::apply(mutator.heap());
    stress::step(mutator);
    object_or_oom(n, mutator.allocate(plain.of_size(bytes)))
}

/// An object, or what the program's function for the end of memory returns. `n` is what was asked for.
pub(crate) fn object_or_oom(n: usize, allocated: Result<core::ptr::NonNull<u8>, AllocError>) -> Ptr {
    match allocated {
        Ok(object) => object.as_ptr().cast(),
        Err(error) => {
            report::refused(n, &error);
            out_of_memory(n)
        }
    }
}

/// What the program's function for the end of memory returns.
#[cold]
pub(crate) fn out_of_memory(n: usize) -> Ptr {
    match settings::oom_fn() {
        // SAFETY: the program has set it.
        Some(function) => unsafe { function(n) },
        None => null_mut(),
    }
}

/// An object of a plain kind.
pub(crate) fn plain(plain: Plain, n: usize) -> Ptr {
    allocate_larger(n, plain)
}

#[inline(always)]
pub(crate) fn malloc(n: usize) -> Ptr {
    allocate(Plain::Normal, n)
}

#[inline(always)]
pub(crate) fn malloc_atomic(n: usize) -> Ptr {
    allocate(Plain::Atomic, n)
}
