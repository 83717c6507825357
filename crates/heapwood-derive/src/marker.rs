//! The output of the derives for marker traits, `NoPointers` and `Shared`: the implementation, and a constant that
//! compiles only if every field has the trait, and there are no other fields.

use crate::{attributes, exhaustive, fields};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Result, parse_quote};

/// The bounds of a generic type's implementation.
pub(crate) enum Bound {
    /// Of the fields whose types name a parameter.
    Fields,
    /// Of the parameters.
    Parameters,
}

/// Implements the marker called `marker`; `check` is the function in `heapwood::__private` that requires it.
pub(crate) fn expand(input: &DeriveInput, marker: &str, check: &str, bound: Bound) -> Result<TokenStream> {
    let krate = attributes::krate(input)?;
    let fields = fields::all(input, marker, &krate)?;
    let (marker, check) = (format_ident!("{marker}"), format_ident!("{check}"));
    let name = &input.ident;
    let (generics, arguments, _) = input.generics.split_for_impl();
    let path = parse_quote!(#krate::__private::#marker);
    let with_where = match bound {
        Bound::Fields => fields::where_clause(&input.generics, &fields, &path),
        Bound::Parameters => fields::parameter_clause(&input.generics, &path),
    };
    let checks = fields.iter().map(|field| {
        let ty = &field.ty;
        quote_spanned!(ty.span()=> #krate::__private::#check::<#ty>();)
    });
    let exhaustive = exhaustive::check(input);
    Ok(quote! {
        // SAFETY: every field has the marker, as the constant below checks.
        #[automatically_derived]
        unsafe impl #generics #krate::__private::#marker for #name #arguments #with_where {}
        const _: () = {
            trait FieldsAreMarked {
                const CHECKED: ();
            }
            #[automatically_derived]
            impl #generics FieldsAreMarked for #name #arguments #with_where {
                const CHECKED: () = {
                    let _ = #exhaustive;
                    #(#checks)*
                };
            }
        };
    })
}
