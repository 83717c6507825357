//! The types that may live in a heap. [`Trace`] has a constant that says where the pointers of a type are.
//! [`NoPointers`] marks the types without pointers. Invariant of both: safe code with traced types can neither hide a
//! [`Gc`](crate::Gc) from the collector nor change one without the barrier. The shape of the contract is gc-arena's
//! `Collect`.

use core::cell::{Cell, OnceCell};
use core::marker::PhantomData;
use core::mem::offset_of;
use heapwood_layout::LayoutError;
use heapwood_layout::program::{Program, ProgramBuf};
use heapwood_layout::type_map::FAR_BYTES;
pub use heapwood_layout::{TypeDescriptor, TypeMap};

/// A type whose values may live in a heap.
///
/// Derive it:
///
/// ```
/// use heapwood::{Gc, Trace};
///
/// #[derive(Trace)]
/// struct Node {
///     value: u64,
///     left: Option<Gc<Node>>,
///     right: Option<Gc<Node>>,
/// }
/// assert_eq!(Node::MAP.mask()[0].count_ones(), 2);
/// ```
///
/// Values in a heap are never dropped, so types that own memory or other resources are refused: `String`, `Vec`, `Box`
/// and types that implement `Drop`.
///
/// # Safety
///
/// 1. Every word of a value that may hold a [`Gc`](crate::Gc) is in [`MAP`](Self::MAP): its bit is set, or the
///    map is conservative.
/// 2. A word whose bit is set holds, for as long as the value exists, a `Gc` or zero: never anything uninitialised
///    or half written.
/// 3. No `Gc` lies outside the value itself: not behind a raw pointer, a reference or a handle that it holds.
/// 4. Values need no drop ([`needs_drop`](core::mem::needs_drop) is false), and nothing relies on one.
/// 5. Once the value is in a heap, its pointers change only through a `GcCell`, which tells the collector and
///    writes them in one piece.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot live in a Heapwood heap",
    label = "does not implement `Trace`",
    note = "a type that owns memory (`String`, `Vec`, `Box`, `Rc`, ...) is refused: the collector neither sees nor \
            frees that memory; hold a `Gc<GcStr>`, a `Gc<Slice<T>>` or a `Gc` to the content, or a `Gc<Finalized<T>>`",
    note = "`RefCell`, `Mutex` and other cells are refused: a `Gc` may change only through a `GcCell`, and plain \
            data through a `Cell`, a `OnceCell` or an atomic",
    note = "a `Gc` leads to a type whose size is known: text is a `Gc<GcStr>`, elements are a `Gc<Slice<T>>`, and what would be a \
            `dyn Trait` is an enum of `Gc`s",
    note = "for a type of your own: `#[derive(Trace)]`; for a plain one of another crate: `#[trace(skip)]` on the field"
)]
pub unsafe trait Trace: Sized {
    /// The positions of a value's pointers.
    const MAP: TypeMap;
}

/// A type whose values never hold a [`Gc`](crate::Gc).
///
/// Such values may change without the barrier: `Cell<T>` and `OnceCell<T>` are [`Trace`] for them. `#[derive(NoPointers)]` implements it
/// for structs and enums if all fields implement it.
///
/// # Safety
///
/// 1. A value never holds a `Gc` in any form: no code makes a `Gc` from its integers or bytes.
/// 2. [`MAP`](Trace::MAP) is [`TypeMap::NO_POINTERS`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data: it is or may hold a `Gc`, or does not implement `NoPointers`",
    label = "does not implement `NoPointers`",
    note = "in a heap, `Cell` and `OnceCell` are for plain data: a `Gc` that changes belongs in a `GcCell`, which tells the collector",
    note = "for a type of your own without pointers: `#[derive(Trace, NoPointers)]`"
)]
pub unsafe trait NoPointers: Trace {}

// Not in the list of plain types, so that the compiler refuses other `Cell`s with the message of `NoPointers`.
macro_rules! cells {
    ($($cell:ident)*) => {$(
        // SAFETY: a cell of plain data cannot hold a `Gc`, so the collector need not know of changes.
        unsafe impl<T: NoPointers> Trace for $cell<T> {
            const MAP: TypeMap = TypeMap::NO_POINTERS;
        }
        // SAFETY: a cell holds its content and nothing else.
        unsafe impl<T: NoPointers> NoPointers for $cell<T> {}
    )*};
}

cells! { Cell OnceCell }

// SAFETY: the elements fill the array, and each is traced.
unsafe impl<T: Trace, const N: usize> Trace for [T; N] {
    const MAP: TypeMap = TypeMap::array(T::MAP, size_of::<T>(), N);
}

// SAFETY: an array holds its elements and nothing else.
unsafe impl<T: NoPointers, const N: usize> NoPointers for [T; N] {}

// SAFETY: an option is an enum of a unit variant and one whose payload is traced.
unsafe impl<T: Trace> Trace for Option<T> {
    const MAP: TypeMap = TypeMap::of_enum::<Self>(T::MAP.has_pointers());
}

// SAFETY: an option holds its payload and nothing else.
unsafe impl<T: NoPointers> NoPointers for Option<T> {}

// SAFETY: an enum whose payloads are traced.
unsafe impl<T: Trace, E: Trace> Trace for Result<T, E> {
    const MAP: TypeMap = TypeMap::of_enum::<Self>(T::MAP.has_pointers() | E::MAP.has_pointers());
}

// SAFETY: it holds its payload and nothing else.
unsafe impl<T: NoPointers, E: NoPointers> NoPointers for Result<T, E> {}

macro_rules! tuples {
    ($([$($T:ident $i:tt),+])*) => {$(
        // SAFETY: each field is traced, and its map lies at the field's own offset.
        unsafe impl<$($T: Trace),+> Trace for ($($T,)+) {
            const MAP: TypeMap = TypeMap::of_fields([$((offset_of!(Self, $i), $T::MAP)),+]);
        }
        // SAFETY: a tuple holds its fields and nothing else.
        unsafe impl<$($T: NoPointers),+> NoPointers for ($($T,)+) {}
    )*};
}

tuples! {
    [A 0]
    [A 0, B 1]
    [A 0, B 1, C 2]
    [A 0, B 1, C 2, D 3]
    [A 0, B 1, C 2, D 3, E 4]
    [A 0, B 1, C 2, D 3, E 4, F 5]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7]
}

/// The type descriptor of `T`. A type without size takes one byte, so that each object has its own address.
///
/// # Panics
/// If `T` visibly breaks the contract of [`Trace`]: it needs a drop, or its map does not fit its size. In a `const`
/// block this is a compile error:
///
/// ```
/// use heapwood::descriptor_of;
/// assert_eq!(const { descriptor_of::<[u64; 3]>() }.size(), 24);
/// ```
///
/// ```compile_fail,E0080
/// struct Leaky(Box<u64>);
/// // SAFETY: none: a box must be dropped.
/// unsafe impl heapwood::Trace for Leaky {
///     const MAP: heapwood::TypeMap = heapwood::TypeMap::NO_POINTERS;
/// }
/// const _: () = { heapwood::descriptor_of::<Leaky>(); };
/// ```
pub const fn descriptor_of<T: Trace>() -> TypeDescriptor {
    assert!(
        !core::mem::needs_drop::<T>(),
        "a type that must be dropped cannot live in a Heapwood heap, which drops nothing"
    );
    let size = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
    match TypeDescriptor::from_map(size, T::MAP) {
        Ok(descriptor) => descriptor,
        Err(LayoutError::NotWholeWords { .. }) => {
            panic!("a type that holds a `Gc` must have a size that is a multiple of 8 bytes")
        }
        Err(_) => panic!("`Trace::MAP` has a pointer behind the end of the type"),
    }
}

/// The program of a type whose pointers lie beyond a mask.
struct Far<T>(PhantomData<T>);

impl<T: Trace> Far<T> {
    const PROGRAM: Option<ProgramBuf<FAR_BYTES>> = T::MAP.program(size_of::<T>());
    const PLACE: &'static Option<ProgramBuf<FAR_BYTES>> = &Self::PROGRAM;
}

/// The program of `T`, if some of its pointers lie beyond a mask.
pub(crate) const fn program_of<T: Trace>() -> Option<Program<'static>> {
    match Far::<T>::PLACE {
        Some(program) => Some(program.program()),
        None => None,
    }
}
