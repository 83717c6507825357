//! The fields of the type that a macro derives for. Invariant: a field counts as generic if its type may depend on a
//! type parameter. The output requires the trait of a generic field's type in a `where` clause. Other fields are
//! checked where their constant is used, which allows a type to refer to itself.

use crate::{attributes, functions};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::visit::{self, Visit};
use syn::{Data, DeriveInput, Error, Field, Generics, Macro, Path, Result, Type, WhereClause, parse_quote};

/// A field, as far as traits are asked of its type.
pub(crate) struct Asked {
    pub(crate) ident: Option<Ident>,
    pub(crate) ty: Type,
    /// It has `#[trace(skip)]`.
    pub(crate) is_skipped: bool,
}

/// What is asked of the types of fields.
pub(crate) struct Bounds {
    /// Of one that is traced: the trait.
    pub(crate) traced: TokenStream,
    /// Of one that is skipped.
    pub(crate) skipped: TokenStream,
}

impl Bounds {
    pub(crate) fn of(&self, field: &Asked) -> &TokenStream {
        if field.is_skipped { &self.skipped } else { &self.traced }
    }
}

/// The fields of all variants, in order. A union is an error.
pub(crate) fn all(input: &DeriveInput, derive: &str) -> Result<Vec<Asked>> {
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span,
                format!(
                    "`{derive}` cannot be derived for a union: nothing says which of its fields holds a value, so the \
                     collector cannot know whether there is a pointer; use an enum"
                ),
            ));
        }
    };
    let asked = |field: &Field| {
        let is_skipped = attributes::is_skipped(field)?;
        let ty = if is_skipped { field.ty.clone() } else { functions::erased(&field.ty) };
        Ok(Asked { ident: field.ident.clone(), ty, is_skipped })
    };
    fields.into_iter().map(asked).collect()
}

/// The type's own `where` clause, with the bounds of each generic field's type.
pub(crate) fn where_clause(generics: &Generics, fields: &[Asked], bounds: &Bounds) -> WhereClause {
    let mut clause = own_clause(generics);
    let parameters: Vec<&Ident> = generics.type_params().map(|parameter| &parameter.ident).collect();
    let mut seen = Vec::new();
    for field in fields {
        let (ty, bound) = (&field.ty, bounds.of(field));
        let written = quote!(#ty).to_string();
        if is_generic(ty, &parameters) && !seen.contains(&written) {
            clause.predicates.push(parse_quote!(#ty: #bound));
            seen.push(written);
        }
    }
    clause
}

/// The `where` clause with the trait `bound` for each type parameter. For a trait that a pointer has only if its target
/// has it: a bound on the fields would make a recursive type require itself.
pub(crate) fn parameter_clause(generics: &Generics, bound: &TokenStream) -> WhereClause {
    let mut clause = own_clause(generics);
    for parameter in generics.type_params() {
        let name = &parameter.ident;
        clause.predicates.push(parse_quote!(#name: #bound));
    }
    clause
}

fn own_clause(generics: &Generics) -> WhereClause {
    let none = || WhereClause { where_token: Default::default(), predicates: Default::default() };
    generics.where_clause.clone().unwrap_or_else(none)
}

/// Whether `ty` may depend on one of the type parameters.
fn is_generic(ty: &Type, parameters: &[&Ident]) -> bool {
    struct Search<'a> {
        parameters: &'a [&'a Ident],
        found: bool,
    }
    impl<'ast> Visit<'ast> for Search<'_> {
        fn visit_path(&mut self, path: &'ast Path) {
            let first = &path.segments[0].ident;
            self.found |= path.leading_colon.is_none() && self.parameters.contains(&first);
            visit::visit_path(self, path);
        }
        fn visit_macro(&mut self, _: &'ast Macro) {
            // It may expand to anything.
            self.found |= !self.parameters.is_empty();
        }
    }
    let mut search = Search { parameters, found: false };
    search.visit_type(ty);
    search.found
}
