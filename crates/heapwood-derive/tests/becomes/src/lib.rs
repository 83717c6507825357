//! An attribute macro that changes what stands below it, as those do that add identifiers, links or caches to a struct.
//! A derive above it sees the item as written; the compiler sees the changed item.

use proc_macro::TokenStream;

/// `#[becomes(struct A { .. })] struct B { .. }` is `struct A { .. }`.
#[proc_macro_attribute]
pub fn becomes(item: TokenStream, _: TokenStream) -> TokenStream {
    item
}
