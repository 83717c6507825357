//! The output of `#[derive(Trace)]`: the implementation, with its map as a constant, and the checks that the type does
//! not implement `Drop` and has exactly the fields that the derive saw. The output refers to `heapwood::__private`, or to what a
//! program says is heapwood: that may be any module. So what makes the map are functions of the type of `Trace::MAP`, which no
//! module can replace. `::core` is trusted.

use crate::fields::{self, Bounds};
use crate::{attributes, exhaustive};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Index, Member, Result};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let krate = attributes::krate(input)?;
    let fields = fields::all(input, "Trace")?;
    let name = &input.ident;
    let (generics, arguments, own_where) = input.generics.split_for_impl();
    let bounds =
        Bounds { traced: quote!(#krate::__private::Trace), skipped: quote!(::core::marker::Send + 'static) };
    let with_where = fields::where_clause(&input.generics, &fields, &bounds);

    // The span is the field's type, so that the compiler reports a missing implementation there.
    let maps = fields.iter().map(|field| {
        let ty = &field.ty;
        match field.is_skipped {
            true => quote_spanned!(ty.span()=> <#krate::__private::TypeMap>::of_skipped::<#ty>()),
            false => quote_spanned!(ty.span()=> <#ty as #krate::__private::Trace>::MAP),
        }
    });
    let map = match &input.data {
        Data::Enum(_) => quote! {
            <#krate::__private::TypeMap>::of_enum::<Self>(false #(| #maps.has_pointers())*)
        },
        _ => {
            let members = fields.iter().enumerate().map(|(i, field)| match &field.ident {
                Some(ident) => Member::Named(ident.clone()),
                None => Member::Unnamed(Index::from(i)),
            });
            quote! {
                <#krate::__private::TypeMap>::of_struct::<Self, _>([
                    #((::core::mem::offset_of!(Self, #members), #maps)),*
                ])
            }
        }
    };
    let exhaustive = exhaustive::check(input);
    // The map of a generic type is computed when it is used. Any other map is computed at once, so that an error shows
    // at once.
    let computed = input.generics.params.is_empty().then(|| {
        quote! {
            const _: #krate::__private::TypeMap = <#name as #krate::__private::Trace>::MAP;
        }
    });
    Ok(quote! {
        // SAFETY: every field is traced, and its map lies at its own offset; or any word may be a pointer. There are no
        // other fields, as the pattern in the constant checks. No field needs a drop, since it is traced, and the type
        // itself has none, as the second implementation shows.
        #[automatically_derived]
        unsafe impl #generics #krate::__private::Trace for #name #arguments #with_where {
            const MAP: #krate::__private::TypeMap = {
                let _ = #exhaustive;
                #map
            };
        }
        #[automatically_derived]
        impl #generics #krate::__private::TracedTypesMustNotImplementDrop for #name #arguments #own_where {}
        #computed
    })
}
