//! What types have that are one word and point to an object, as [`Gc`](crate::Gc) does, with fewer promises. Invariant: such a
//! word is never zero.

/// Makes types copied, traced, shared if their parameters are, and shown without their contents.
macro_rules! like_a_gc {
    ($({$($generics:ident),*} $type:ty;)*) => {$(
        impl<$($generics),*> Clone for $type {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($generics),*> Copy for $type {}

        // SAFETY: one word, which is never zero, and holds the address of an object.
        unsafe impl<$($generics),*> $crate::trace::Trace for $type {
            const MAP: $crate::trace::TypeMap = $crate::trace::TypeMap::POINTER;
        }

        // SAFETY: who reads it on another thread gets what a `Gc` there would be.
        unsafe impl<$($generics: $crate::shared::Shared),*> $crate::shared::Shared for $type {}

        impl<$($generics),*> core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}

pub(crate) use like_a_gc;
