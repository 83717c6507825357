//! A check that the derive macro saw the type that is compiled. An attribute macro below the derive runs after it and
//! may add fields or change their types, which the derive does not see. Invariant: the check compiles only if each
//! variant has exactly the fields that the derive saw, with the types that it saw. The check is a pattern without `..`,
//! which must name every field; gc-arena and serde use it, too.

use crate::functions::expected;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Data, DeriveInput, Field, Fields, Index, Member};

/// An expression that is only compiled, where `Self` is the type of `input`.
pub(crate) fn check(input: &DeriveInput) -> TokenStream {
    // Messages show the type's name. The names inside are hygienic.
    let span = input.ident.span().resolved_at(Span::call_site());
    let this = Ident::new("this", Span::mixed_site());
    match &input.data {
        Data::Struct(data) => {
            let all: Vec<_> = members(&data.fields).map(|(member, _)| quote!(#member: _)).collect();
            // Raw pointers: the compiler refuses a reference to a field of a packed struct, and a reference to a `Gc`
            // would dereference it.
            let types = members(&data.fields)
                .map(|(member, field)| (member, expected(&field.ty)))
                .map(|(member, ty)| quote!(let _: *const #ty = &raw const #this.#member;));
            quote_spanned! {span=>
                |#this: &Self| {
                    let Self { #(#all),* } = #this;
                    #(#types)*
                }
            }
        }
        Data::Enum(data) => {
            let arms = data.variants.iter().map(|variant| {
                let name = &variant.ident;
                let bound = |i| format_ident!("field{i}", span = Span::mixed_site());
                let all = members(&variant.fields).enumerate().map(|(i, (member, _))| {
                    let field = bound(i);
                    quote!(#member: #field)
                });
                let types = variant.fields.iter().enumerate().map(|(i, field)| {
                    let (ty, field) = (expected(&field.ty), bound(i));
                    quote!(let _: *const #ty = &raw const *#field;)
                });
                quote_spanned!(span=> Self::#name { #(#all),* } => { #(#types)* })
            });
            // Without variants there is nothing to match behind a reference.
            let value = if data.variants.is_empty() { quote!(*#this) } else { quote!(#this) };
            quote_spanned!(span=> |#this: &Self| match #value { #(#arms)* })
        }
        Data::Union(_) => quote!(()),
    }
}

/// The fields as patterns name them.
fn members(fields: &Fields) -> impl Iterator<Item = (Member, &Field)> {
    fields.iter().enumerate().map(|(i, field)| match &field.ident {
        Some(ident) => (Member::Named(ident.clone()), field),
        None => (Member::Unnamed(Index::from(i)), field),
    })
}
