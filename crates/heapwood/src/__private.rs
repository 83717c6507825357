//! Items that the output of the derive macros refers to. They are not part of the interface.

use crate::gc_cell::CellValue;
pub use crate::shared::Shared;
pub use crate::trace::{NoPointers, Trace, TypeMap, enum_map};
use core::marker::PhantomData;
use heapwood_layout::WORD;

/// The derive implements this for its type. If the type implements `Drop`, that conflicts with the blanket
/// implementation and does not compile. The compiler's message shows the trait's name.
pub trait TracedTypesMustNotImplementDrop {}

#[allow(drop_bounds, reason = "types that implement Drop are what this is about")]
impl<T: Drop + ?Sized> TracedTypesMustNotImplementDrop for T {}

/// The map of the struct `T`, whose fields' maps make `fields`.
///
/// `TypeMap::with_field` or this function refuses a pointer that is not aligned to a word. The compiler refuses a `Gc` in a packed struct by
/// itself, but not where it is a type argument, or in an enum:
///
/// ```compile_fail,E0080
/// #[derive(heapwood::Trace)]
/// #[repr(C, packed)]
/// struct Shifted<T>(u32, T);
/// const _: heapwood::TypeMap = <Shifted<heapwood::Gc<u64>> as heapwood::Trace>::MAP;
/// ```
///
/// ```compile_fail,E0080
/// #[derive(heapwood::Trace)]
/// #[repr(C, packed)]
/// struct Unaligned<T>(T, u32);
/// const _: heapwood::TypeMap = <Unaligned<heapwood::Gc<u64>> as heapwood::Trace>::MAP;
/// ```
///
/// The nearest types that are valid compile, and so do large types:
///
/// ```
/// #[derive(heapwood::Trace)]
/// #[repr(C, packed(8))]
/// struct Whole<T>(u32, T);
/// const _: heapwood::TypeMap = <Whole<heapwood::Gc<u64>> as heapwood::Trace>::MAP;
///
/// #[derive(heapwood::Trace)]
/// struct Table([Option<heapwood::Gc<u64>>; 100_000]);
/// ```
pub const fn struct_map<T>(fields: TypeMap) -> TypeMap {
    assert!(
        !fields.has_pointers() || align_of::<T>().is_multiple_of(WORD),
        "a type that holds a `Gc` must be aligned to 8 bytes: remove `repr(packed)`"
    );
    fields
}

/// Compiles only if `T` has no pointers.
pub const fn has_no_pointers<T: NoPointers>() {}

/// Compiles only if several threads may use a `T` at once.
pub const fn is_shared<T: Shared>() {}

/// Stands for a field of type `T` with `#[trace(skip)]`.
pub struct Skipped<T>(PhantomData<T>);

// SAFETY: the field holds no `Gc`, as none can be sent to another thread, and needs no drop.
unsafe impl<T: Send + 'static> Trace for Skipped<T> {
    const MAP: TypeMap = {
        assert!(
            !core::mem::needs_drop::<T>(),
            "a field with `#[trace(skip)]` must need no drop, since nothing in a heap is dropped: hold a `Gc<Finalized<T>>` instead"
        );
        TypeMap::NO_POINTERS
    };
}

// SAFETY: as above.
unsafe impl<T: Send + 'static> NoPointers for Skipped<T> {}

// SAFETY: several threads may use a reference to a Sync field.
unsafe impl<T: Send + Sync + 'static> Shared for Skipped<T> {}

impl<T> Clone for Skipped<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Skipped<T> {}

// SAFETY: as above: no pointer, so none of another brand.
unsafe impl<'gc, T: Send + 'static> CellValue<'gc> for Skipped<T> {}
