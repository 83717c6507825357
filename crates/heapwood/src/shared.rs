//! Types whose values several threads may use at once. `Sync` does not serve: a `Gc` is not `Sync`, because a thread
//! that is not attached must not hold one, so no object with pointers could be `Sync`.

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
