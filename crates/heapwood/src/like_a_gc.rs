//! What types have that are one word and point to an object, as [`Gc`](crate::Gc) does, with fewer promises. Invariant: such a
//! word is never zero.

/// Makes types copied, traced, held by cells, shared if their parameters are, and shown without their contents.
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

        impl<$($generics),*> $crate::gc_cell::sealed::Sealed for $type {}
        impl<$($generics),*> $crate::gc_cell::sealed::Sealed for Option<$type> {}

        impl<$($generics),*> $crate::gc_cell::Pointer for $type {
            #[inline(always)]
            fn into_word(self) -> usize {
                // SAFETY: one word, which is never zero.
                unsafe { core::mem::transmute::<Self, core::ptr::NonNull<u8>>(self) }.as_ptr() as usize
            }
            #[inline(always)]
            unsafe fn from_word(word: usize) -> Self {
                // SAFETY: the word was made from one of these (contract 1).
                unsafe { core::mem::transmute(core::ptr::NonNull::new_unchecked(word as *mut u8)) }
            }
        }

        impl<$($generics),*> $crate::gc_cell::Pointer for Option<$type> {
            #[inline(always)]
            fn into_word(self) -> usize {
                self.map_or(0, <$type as $crate::gc_cell::Pointer>::into_word)
            }
            #[inline(always)]
            unsafe fn from_word(word: usize) -> Self {
                // SAFETY: a word that is not 0 was made from one of these (contract 1).
                (word != 0).then(|| unsafe { <$type as $crate::gc_cell::Pointer>::from_word(word) })
            }
        }

        impl<$($generics),*> core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}

pub(crate) use like_a_gc;
