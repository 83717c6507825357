//! The output of `#[derive(NoPointers)]`: the implementation, and a constant that compiles only if every field has
//! the trait too.

use crate::fields;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Result, parse_quote};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let fields = fields::all(input, "NoPointers")?;
    let name = &input.ident;
    let (generics, arguments, _) = input.generics.split_for_impl();
    let with_where =
        fields::where_clause(&input.generics, &fields, &parse_quote!(::heapwood::__private::NoPointers));
    let checks = fields.iter().map(|field| {
        let ty = &field.ty;
        quote_spanned!(ty.span()=> ::heapwood::__private::has_no_pointers::<#ty>();)
    });
    Ok(quote! {
        // SAFETY: every field is without pointers, as the constant below checks.
        #[automatically_derived]
        unsafe impl #generics ::heapwood::__private::NoPointers for #name #arguments #with_where {}
        const _: () = {
            trait FieldsHaveNoPointers {
                const CHECKED: ();
            }
            #[automatically_derived]
            impl #generics FieldsHaveNoPointers for #name #arguments #with_where {
                const CHECKED: () = {
                    #(#checks)*
                };
            }
        };
    })
}
