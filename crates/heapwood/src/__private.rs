//! Items that the output of the derive macros refers to. They are not part of the interface.

pub use crate::shared::Shared;
pub use crate::trace::{NoPointers, Trace, TypeMap};

/// The derive implements this for its type. If the type implements `Drop`, that conflicts with the blanket
/// implementation and does not compile. The compiler's message shows the trait's name.
pub trait TracedTypesMustNotImplementDrop {}

#[allow(drop_bounds, reason = "types that implement Drop are what this is about")]
impl<T: Drop + ?Sized> TracedTypesMustNotImplementDrop for T {}

/// `TypeMap::of_struct` refuses a pointer that is not aligned to a word. The compiler refuses a `Gc` in a packed struct by
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
#[cfg(doctest)]
pub struct UnalignedPointers;
