//! What types have that are one word and point to an object, as [`Gc`](crate::Gc) does, with fewer promises. Invariant: such a
//! word is never zero.

/// Marks a type as invariant in all three, as `Gc` is in its own two; whether it crosses threads is left to its pointer.
pub(crate) type Marker<'gc, K, V> = core::marker::PhantomData<fn(&'gc (), K, V) -> (&'gc (), K, V)>;

/// Makes types copied, compared by address, traced, shared if their parameters are, the content of a [`GcCell`](crate::GcCell),
/// and shown without their contents. Of each it is told how its pointer is taken out, and how it is made from one.
macro_rules! like_a_gc {
    ($({$($generics:ident),*} $type:ident, $value:ident => $pointer:expr, $from:ident => $made:expr;)*) => {$(
        impl<$($generics),*> $type<'_, $($generics),*> {
            /// Whether both are the same object of the heap. Two that were made of the same things are two.
            #[inline]
            pub fn ptr_eq(self, other: Self) -> bool {
                let [one, two] = [self, other].map(|$value| $pointer);
                one == two
            }
        }

        impl<$($generics),*> $crate::gc_cell::OnePointer for $type<'_, $($generics),*> {}
        impl<$($generics),*> $crate::gc_cell::OnePointer for Option<$type<'_, $($generics),*>> {}
        // SAFETY: its one pointer.
        unsafe impl<'gc, $($generics),*> $crate::gc_cell::CellValue<'gc> for $type<'gc, $($generics),*> {}

        impl<$($generics),*> Clone for $type<'_, $($generics),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generics),*> Copy for $type<'_, $($generics),*> {}

        // SAFETY: one word, which is never zero, and holds the address of an object.
        unsafe impl<$($generics),*> $crate::trace::Trace for $type<'_, $($generics),*> {
            const MAP: $crate::trace::TypeMap = $crate::trace::TypeMap::POINTER;
        }

        // SAFETY: who reads it on another thread gets what a `Gc` there would be.
        unsafe impl<$($generics: $crate::shared::Shared),*> $crate::shared::Shared for $type<'_, $($generics),*> {}

        impl<$($generics),*> core::fmt::Debug for $type<'_, $($generics),*> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}

pub(crate) use like_a_gc;
