//! What types have that are one word and point to an object, as [`Gc`](crate::Gc) does, with fewer promises. Invariant: such a
//! word is never zero.

/// Marks a type as invariant in both, as `Gc` is in its own; whether it crosses threads is left to its pointer.
pub(crate) type Pair<K, V> = core::marker::PhantomData<fn(K, V) -> (K, V)>;

/// Makes types copied, compared by address, traced, shared if their parameters are, the content of a [`GcCell`](crate::GcCell),
/// and shown without their contents. Of each it is told how its pointer is taken out, and how it is made from one.
macro_rules! like_a_gc {
    ($({$($generics:ident),*} $type:ident, $value:ident => $pointer:expr, $from:ident => $made:expr;)*) => {$(
        impl<$($generics),*> $type<$($generics),*> {
            /// Whether both are the same object of the heap. Two that were made of the same things are two.
            #[inline]
            pub fn ptr_eq(self, other: Self) -> bool {
                let [one, two] = [self, other].map(|$value| $pointer);
                one == two
            }
        }

        impl<$($generics),*> $crate::gc_cell::OnePointer for $type<$($generics),*> {}
        // SAFETY: it is made by mutators alone, whose brand this is.
        unsafe impl<$($generics),*> $crate::gc_cell::CellValue<'static> for $type<$($generics),*> {}

        impl<$($generics),*> Clone for $type<$($generics),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generics),*> Copy for $type<$($generics),*> {}

        // SAFETY: one word, which is never zero, and holds the address of an object.
        unsafe impl<$($generics),*> $crate::trace::Trace for $type<$($generics),*> {
            const MAP: $crate::trace::TypeMap = $crate::trace::TypeMap::POINTER;
        }

        // SAFETY: who reads it on another thread gets what a `Gc` there would be.
        unsafe impl<$($generics: $crate::shared::Shared),*> $crate::shared::Shared for $type<$($generics),*> {}

        impl<$($generics),*> core::fmt::Debug for $type<$($generics),*> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}

pub(crate) use like_a_gc;
