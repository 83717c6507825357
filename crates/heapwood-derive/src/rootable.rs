//! The output of `#[derive(Rootable)]`: the type at every lifetime.

use crate::attributes;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, GenericParam, Result};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let parameters: Vec<_> = input.generics.params.iter().collect();
    let [GenericParam::Lifetime(_)] = parameters[..] else {
        return Err(Error::new_spanned(
            &input.ident,
            "a session's root has one parameter, the lifetime of its pointers: `struct Root<'gc> { .. }`",
        ));
    };
    let (krate, name) = (attributes::krate(input)?, &input.ident);
    Ok(quote! {
        #[automatically_derived]
        impl #krate::session::Rootable for #name<'static> {
            type At<'gc> = #name<'gc>;
        }
    })
}
