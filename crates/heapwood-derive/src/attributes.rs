//! The attribute `#[trace(..)]`: of a type, where the crate is found; of a field, that the collector need not look at it. Invariant:
//! what is skipped was promised by the word `unsafe`, which stands where the compiler's lint sees it.
//!
//! There is no `skip` without a promise, since nothing could check one. A type that implements `NoPointers` is traced at no cost
//! and needs no attribute. Of another type nobody knows that it holds no `Gc`: a `Gc` is `'static`, so that bound excludes none.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Attribute, DeriveInput, Error, Field, Path, Result, parse_quote};

const KNOWN: &str = "`#[trace(..)]` takes `crate = path` on a type, and `unsafe(skip)` on a field";

fn of(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("trace"))
}

/// The path of the crate `heapwood` in the output.
pub(crate) fn krate(input: &DeriveInput) -> Result<Path> {
    let mut path = parse_quote!(::heapwood);
    for attribute in of(&input.attrs) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error(KNOWN));
            }
            path = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        })?;
    }
    Ok(path)
}

/// Where a field says that it is skipped, if it does.
pub(crate) fn skipped(field: &Field) -> Result<Option<Span>> {
    let mut span = None;
    for attribute in of(&field.attrs) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                return Err(meta.error(
                    "nothing can check that this type holds no `Gc`: write `#[trace(unsafe(skip))]` to promise that it does not; \
                     a type of your own derives `Trace` and `NoPointers`, and then needs no attribute",
                ));
            }
            if !meta.path.is_ident("unsafe") {
                return Err(meta.error(KNOWN));
            }
            span = Some(meta.path.span());
            meta.parse_nested_meta(|meta| {
                if meta.path.is_ident("skip") { Ok(()) } else { Err(meta.error(KNOWN)) }
            })
        })?;
    }
    Ok(span)
}

/// Attributes of variants have no meaning.
pub(crate) fn refuse(attributes: &[Attribute]) -> Result<()> {
    match of(attributes).next() {
        Some(attribute) => Err(Error::new(attribute.span(), KNOWN)),
        None => Ok(()),
    }
}
