//! The attribute `#[trace(..)]` of types and fields. Invariant: what it does not know is an error, and where it means nothing.

use syn::{Attribute, Data, DeriveInput, Error, Field, Path, Result, parse_quote};

/// The path of the crate `heapwood`, as a type's `#[trace(crate = path)]` has it.
pub(crate) fn krate(input: &DeriveInput) -> Result<Path> {
    let mut path: Path = parse_quote!(::heapwood);
    for attribute in of(&input.attrs) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(
                    meta.error("a type can have `#[trace(crate = path)]`, the path of a renamed heapwood")
                );
            }
            path = meta.value()?.parse()?;
            Ok(())
        })?;
    }
    if let Data::Enum(data) = &input.data
        && let Some(attribute) = data.variants.iter().flat_map(|variant| of(&variant.attrs)).next()
    {
        return Err(Error::new_spanned(
            attribute,
            "a variant has no `#[trace(..)]`: put it on the variant's fields",
        ));
    }
    Ok(path)
}

/// Whether a field has `#[trace(skip)]`.
pub(crate) fn is_skipped(field: &Field) -> Result<bool> {
    let mut skipped = false;
    for attribute in of(&field.attrs) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("skip") {
                return Err(meta.error("a field can have `#[trace(skip)]`, if its type holds no `Gc`"));
            }
            skipped = true;
            Ok(())
        })?;
    }
    Ok(skipped)
}

fn of(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("trace"))
}
