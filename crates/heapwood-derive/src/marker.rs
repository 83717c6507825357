//! The output of the derives for marker traits, `NoPointers` and `Shared`: the implementation, and a constant that
//! compiles only if every field has the trait, and there are no other fields.

use crate::fields::{self, Bounds};
use crate::{attributes, exhaustive};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Result};

/// The bounds of a generic type's implementation.
pub(crate) enum Bound {
    /// Of the fields whose types name a parameter.
    Fields,
    /// Of the parameters.
    Parameters,
}

/// A marker trait.
pub(crate) struct Marker {
    pub(crate) name: &'static str,
    /// The function that requires it, which the compiler's messages name.
    pub(crate) check: &'static str,
    pub(crate) bound: Bound,
    /// The bounds of a field that is skipped.
    pub(crate) skipped: TokenStream,
}

pub(crate) fn expand(input: &DeriveInput, marker: Marker) -> Result<TokenStream> {
    let krate = attributes::krate(input)?;
    let fields = fields::all(input, marker.name)?;
    let (trait_name, check) = (format_ident!("{}", marker.name), format_ident!("{}", marker.check));
    let name = &input.ident;
    let (generics, arguments, _) = input.generics.split_for_impl();
    let bounds = Bounds { traced: quote!(#krate::__private::#trait_name), skipped: marker.skipped };
    let Bounds { traced, skipped } = &bounds;
    let with_where = match marker.bound {
        Bound::Fields => fields::where_clause(&input.generics, &fields, &bounds),
        Bound::Parameters => fields::parameter_clause(&input.generics, traced),
    };
    let checks = fields.iter().map(|field| {
        let ty = &field.ty;
        match field.is_skipped {
            true => quote_spanned!(ty.span()=> may_be_skipped::<#ty>();),
            false => quote_spanned!(ty.span()=> #check::<#ty>();),
        }
    });
    let exhaustive = exhaustive::check(input);
    Ok(quote! {
        // SAFETY: every field has the marker, as the constant below checks.
        #[automatically_derived]
        unsafe impl #generics #traced for #name #arguments #with_where {}
        const _: () = {
            #[allow(dead_code)]
            const fn #check<T: #traced>() {}
            #[allow(dead_code)]
            const fn may_be_skipped<T: #skipped>() {}
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
