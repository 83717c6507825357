//! Types whose values several threads may use at once. `Sync` does not serve: a `Gc` is not `Sync`, because a thread
//! that is not attached must not hold one, so no object with pointers could be `Sync`.

use crate::gc::Gc;
use crate::gc_cell::{GcCell, CellValue};
use crate::slice::Slice;

/// A type whose values may be used by several attached threads at the same time; derive it beside
/// [`Trace`](crate::Trace).
///
/// # Safety
///
/// 1. A shared reference to a value can be used on several threads at once, provided that each is attached to the
///    heap: there is no interior mutability without synchronisation.
/// 2. The same holds for everything that its pointers refer to.
#[diagnostic::on_unimplemented(
    message = "values of `{Self}` may not be used from several threads at once",
    label = "does not implement `Shared`",
    note = "a `Cell` is for one thread: use an atomic, or a `GcCell` for a pointer",
    note = "for a type of your own: `#[derive(Shared)]` beside `#[derive(Trace)]`"
)]
pub unsafe trait Shared {}

macro_rules! shared {
    ($($type:ty),* $(,)?) => { $(
        // SAFETY: the type is Sync and holds no pointer into a heap.
        #[diagnostic::do_not_recommend]
        unsafe impl Shared for $type {}
    )* };
}

shared!(
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    bool,
    char,
    (),
    &'static str
);
shared!(
    core::time::Duration,
    std::time::Instant,
    std::time::SystemTime,
    core::any::TypeId,
    core::sync::atomic::AtomicU8,
    core::sync::atomic::AtomicI8,
    core::sync::atomic::AtomicI16,
    core::sync::atomic::AtomicU16,
    core::sync::atomic::AtomicU32,
    core::sync::atomic::AtomicU64,
    core::sync::atomic::AtomicUsize,
    core::sync::atomic::AtomicI32,
    core::sync::atomic::AtomicI64,
    core::sync::atomic::AtomicIsize,
    core::sync::atomic::AtomicBool,
);

// SAFETY: it holds no T.
unsafe impl<T: ?Sized> Shared for core::marker::PhantomData<T> {}

// SAFETY: any thread may read a pointer, and its target is Shared.
unsafe impl<T: Shared> Shared for Gc<T> {}
// SAFETY: the cell is an atomic word, and its target is Shared.
unsafe impl<P: CellValue + Shared> Shared for GcCell<P> {}
// SAFETY: a slice holds its elements and a length that never changes.
unsafe impl<T: Shared> Shared for Slice<T> {}
// SAFETY: an option holds its payload and nothing else.
unsafe impl<T: Shared> Shared for Option<T> {}
// SAFETY: a result holds its payload and nothing else.
unsafe impl<T: Shared, E: Shared> Shared for Result<T, E> {}
// SAFETY: an array holds its elements and nothing else.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}

macro_rules! tuples {
    ($([$($T:ident)+])*) => {$(
        // SAFETY: a tuple holds its fields and nothing else.
        unsafe impl<$($T: Shared),+> Shared for ($($T,)+) {}
    )*};
}
tuples! { [A] [A B] [A B C] [A B C D] [A B C D E] [A B C D E F] [A B C D E F G] [A B C D E F G H] }
