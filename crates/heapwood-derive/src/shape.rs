//! What a field's type tells as it is written, before the compiler knows any trait. Functions are known to hold no pointer, also
//! those of which a trait cannot say it (of any lifetime of an argument). Types that never live in a heap get a message that says
//! what to write instead. Invariant: only what is certain by the language's own syntax is accepted; `Option` may be another type of
//! that name, and the output checks that it is not.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    DeriveInput, Error, GenericArgument, Generics, PathArguments, PathSegment, Result, Type, TypeFnPtr,
    TypePath, TypeReference,
};

/// The type inside parentheses, which may come from a macro.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => bare(&inner.elem),
        Type::Group(inner) => bare(&inner.elem),
        ty => ty,
    }
}

/// The arguments of a path's last segment, if that has this name.
fn arguments<'a>(ty: &'a Type, name: &str) -> Option<Vec<&'a Type>> {
    let Type::Path(TypePath { path, .. }) = ty else { return None };
    of_segment(path.segments.last()?, name)
}

fn of_segment<'a>(segment: &'a PathSegment, name: &str) -> Option<Vec<&'a Type>> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    (segment.ident == name).then(|| {
        let types = arguments.args.iter().filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        });
        types.collect()
    })
}

/// For a type that is a function, an `Option` of one, or arrays and tuples of these: a statement that compiles only if it is.
pub(crate) fn function(ty: &Type) -> Option<TokenStream> {
    let ty = bare(ty);
    match ty {
        Type::FnPtr(_) => Some(quote!()),
        Type::Array(array) => function(&array.elem),
        Type::Tuple(tuple) if !tuple.elems.is_empty() => tuple.elems.iter().map(function).collect(),
        _ => match arguments(ty, "Option")?[..] {
            [payload] => {
                let check = function(payload)?;
                Some(quote! {
                    #check
                    let _: *const ::core::option::Option<#payload> = ::core::ptr::null::<#ty>();
                })
            }
            _ => None,
        },
    }
}

/// An error if a type with this field never lives in a heap.
pub(crate) fn refuse(ty: &Type, input: &DeriveInput) -> Result<()> {
    let mut search = Search { error: None };
    search.visit_type(ty);
    match search.error {
        Some(error) => Err(error),
        None => refuse_reference(ty, &input.generics),
    }
}

/// A reference with a lifetime of the type's, which nothing bounds.
fn refuse_reference(ty: &Type, generics: &Generics) -> Result<()> {
    let ty = bare(ty);
    match ty {
        Type::Reference(TypeReference { lifetime: Some(lifetime), elem, .. }) => {
            let own = generics.lifetimes().find(|own| own.lifetime == *lifetime);
            if generics.where_clause.is_some() || own.is_none_or(|own| !own.bounds.is_empty()) {
                return Ok(());
            }
            let what = match bare(elem) {
                Type::Path(path) if path.path.is_ident("str") => {
                    "copy the text: `Gc<GcStr>` by `Mutator::alloc_str`, or `ArenaRef<str>` by `Arena::alloc_str`"
                }
                _ => "hold a `Gc`, or an `ArenaRef` of an arena's value",
            };
            Err(Error::new(
                ty.span(),
                format!("an object may outlive `{lifetime}`, so it holds no such reference: {what}"),
            ))
        }
        Type::Array(array) => refuse_reference(&array.elem, generics),
        Type::Tuple(tuple) => tuple.elems.iter().try_for_each(|ty| refuse_reference(ty, generics)),
        _ => match arguments(ty, "Option") {
            Some(types) => types.into_iter().try_for_each(|ty| refuse_reference(ty, generics)),
            None => Ok(()),
        },
    }
}

/// Looks for a `Gc` to something without a size.
struct Search {
    error: Option<Error>,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_type_fn_ptr(&mut self, _: &'ast TypeFnPtr) {}

    fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
        if let Some([target]) = of_segment(segment, "Gc").as_deref() {
            let target = bare(target);
            let instead = match target {
                Type::TraitObject(_) => Some(
                    "a `Gc` is one word, and holds no table of methods: write an enum of the types, or a struct with function \
                     pointers",
                ),
                Type::Slice(_) => Some("a `Gc` is one word, and holds no length: write `Gc<Slice<T>>`"),
                Type::Path(path) if path.path.is_ident("str") => {
                    Some("a `Gc` is one word, and holds no length: write `Gc<GcStr>`")
                }
                _ => None,
            };
            if let Some(instead) = instead {
                self.error.get_or_insert(Error::new(target.span(), instead));
            }
        }
        visit::visit_path_segment(self, segment);
    }
}
