//! The output of `#[derive(CellValue)]`: the implementation for each brand that all fields have.

use crate::fields::{self, Bounds};
use crate::{attributes, exhaustive};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Result, parse_quote};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let krate = attributes::krate(input)?;
    let name = &input.ident;
    let (_, arguments, _) = input.generics.split_for_impl();
    let mut generics = input.generics.clone();
    generics.params.insert(0, parse_quote!('__gc));
    let clause = generics.make_where_clause();
    let bounds =
        Bounds { traced: quote!(#krate::CellValue<'__gc>), skipped: quote!(::core::marker::Send + 'static) };
    for field in fields::all(input, "CellValue")? {
        let (ty, bound) = (&field.ty, bounds.of(&field));
        clause.predicates.push(parse_quote!(#ty: #bound));
    }
    let (generics, _, clause) = generics.split_for_impl();
    let exhaustive = exhaustive::check(input);
    Ok(quote! {
        // SAFETY: every field has this brand or no pointer, and there are no others, as the pattern in the constant checks.
        #[automatically_derived]
        unsafe impl #generics #krate::CellValue<'__gc> for #name #arguments #clause {}
        const _: () = {
            trait FieldsHaveTheBrand<'__gc> {
                const CHECKED: ();
            }
            #[automatically_derived]
            impl #generics FieldsHaveTheBrand<'__gc> for #name #arguments #clause {
                const CHECKED: () = {
                    let _ = #exhaustive;
                };
            }
        };
    })
}
