//! The derive macros of Heapwood.
//!
//! Only the crate `heapwood` uses this one, and exports the macros.
//!
//! `#[derive(Trace)]` finds where the pointers of a type are, in a constant that the compiler computes from its fields'
//! offsets and maps. The macros see names, not types, so their output makes the compiler check every field.
//!
//! | module | what it holds |
//! |---|---|
//! | `attributes` | `#[trace(..)]` |
//! | `fields` | the fields of a struct or an enum, and which of them depend on a type parameter |
//! | `functions` | function pointers in the fields' types |
//! | `trace` | the output of `#[derive(Trace)]` |
//! | `marker` | the output of the derives for marker traits |
//! | `cell_value` | the output of `#[derive(CellValue)]` |
//! | `rootable` | the output of `#[derive(Rootable)]` |
//! | `exhaustive` | a check that the type which is compiled has the fields that the macro saw |

mod attributes;
mod cell_value;
mod exhaustive;
mod fields;
mod functions;
mod marker;
mod rootable;
mod trace;

use marker::{Bound, Marker};
use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, parse_macro_input};

/// Derives `heapwood::Trace`: the type may live in a heap.
///
/// - **Structs**: the map is that of the fields at their offsets, precise to the word. Fields need no attribute:
///   one of a type that does not implement `Trace` is refused.
/// - **Enums**: an enum without pointers in any variant has none. Otherwise the variants have pointers in different
///   places, and the collector scans the enum, and a struct that holds it by value, conservatively. An enum of a single
///   word, such as `enum Link { End, To(Gc<Node>) }`, stays precise. Every payload must implement `Trace`. Words that a variant does not write
///   are scanned, too, and have what was there before: give such a variant a word of its own, and write 0, if that keeps too much alive.
/// - **Generic types**: each field whose type names a type parameter is required to implement `Trace`; so in
///   `Node<T> { value: T, next: Option<Gc<Node<T>>> }` it is `T: Trace` that matters.
/// - **Function pointers** of any signature, such as `fn(&Mutator, Gc<Node>)`, hold no `Gc`: as a field, in an array, or in an `Option`. Of an
///   alias the macro sees no more than the name, so one for a function of references is refused: write it out.
/// - **Unions** and types that implement `Drop` are refused: values in a heap are never dropped.
/// - **Attribute macros** between the derive and the type that add fields, or change their types, are refused, because
///   the derive does not see their output. Write the derive below them.
///
/// # Attributes
/// They hold for all derives.
///
/// - `#[trace(crate = path)]` on the type: where the crate `heapwood` is, if a dependency renames it or another crate passes it on.
///   The output trusts no such path, but it does trust the names `::core` and `Option`: a crate that gives its own modules those
///   (`extern crate self as core`) deceives this macro as it does every other.
/// - `#[trace(skip)]` on a field: its type holds no `Gc`, though it does not implement `Trace`, such as a plain type of another crate. The
///   compiler checks it: the type has to be `Send + 'static`, which a `Gc` is not (nor is a reference to one, or anything weak), and
///   may not need a drop. For `Shared` it is `Sync`, too. So a skipped field cannot hide a `Gc` from the collector, and needs no `unsafe`; there is no attribute
///   that skips more. (In this crate `'static` alone would prove nothing, as a `Gc` is. A type that an `unsafe impl` makes `Send` is taken at its word.)
#[proc_macro_derive(Trace, attributes(trace))]
pub fn derive_trace(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    trace::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `heapwood::NoPointers`: a value never holds a `Gc`, so it may lie in a `Cell` of an object.
///
/// Every field must implement `NoPointers`. Derive `Trace` beside it.
#[proc_macro_derive(NoPointers, attributes(trace))]
pub fn derive_no_pointers(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let marker = Marker {
        name: "NoPointers",
        check: "has_no_pointers",
        bound: Bound::Fields,
        skipped: quote!(::core::marker::Send + 'static),
    };
    marker::expand(&input, marker).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `heapwood::CellValue`: a value of the type may change in a `GcCell`. All fields must implement it. Derive `Trace`, `Clone` and `Copy`
/// beside it.
#[proc_macro_derive(CellValue, attributes(trace))]
pub fn derive_cell_value(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    cell_value::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `heapwood::session::Rootable`: the type may be a session's root. It has one parameter, the lifetime of its pointers. Derive
/// `Trace` beside it.
#[proc_macro_derive(Rootable, attributes(trace))]
pub fn derive_rootable(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    rootable::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `heapwood::Shared`: several threads may use one value at the same time, so a `Root` of it may be sent to
/// another thread.
///
/// Every field must implement `Shared`, and so must the type parameters. Derive `Trace` beside it.
#[proc_macro_derive(Shared, attributes(trace))]
pub fn derive_shared(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let marker = Marker {
        name: "Shared",
        check: "is_shared",
        bound: Bound::Parameters,
        skipped: quote!(::core::marker::Send + ::core::marker::Sync + 'static),
    };
    marker::expand(&input, marker).unwrap_or_else(Error::into_compile_error).into()
}
