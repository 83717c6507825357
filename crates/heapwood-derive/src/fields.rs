//! The fields of the type that a macro derives for. Invariant: a field counts as generic if its type may depend on a
//! type parameter. The output requires the trait of a generic field's type in a `where` clause. Other fields are
//! checked where their constant is used, which allows a type to refer to itself.

use crate::{attributes, functions};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Data, DeriveInput, Error, Field, Generics, Macro, Path, Result, Type, WhereClause, parse_quote,
    parse_quote_spanned,
};

/// The fields of all variants, in order, with the types of which traits are asked. A union is an error.
pub(crate) fn all(input: &DeriveInput, derive: &str, krate: &Path) -> Result<Vec<Field>> {
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
        let ty = &field.ty;
        let ty = match attributes::is_skipped(field)? {
            // At the field's place, where the compiler tells of it.
            true => {
                let krate = quote!(#krate).into_iter().map(|mut token| {
                    token.set_span(token.span().located_at(ty.span()));
                    token
                });
                let krate: TokenStream = krate.collect();
                parse_quote_spanned!(ty.span()=> #krate::__private::Skipped<#ty>)
            }
            false => functions::erased(ty),
        };
        Ok(Field { ty, ..field.clone() })
    };
    fields.into_iter().map(asked).collect()
}

/// The type's own `where` clause, with the trait `bound` for each generic field's type.
pub(crate) fn where_clause(generics: &Generics, fields: &[Field], bound: &Path) -> WhereClause {
    let mut clause = generics
        .where_clause
        .clone()
        .unwrap_or_else(|| WhereClause { where_token: Default::default(), predicates: Default::default() });
    let parameters: Vec<&Ident> = generics.type_params().map(|parameter| &parameter.ident).collect();
    let mut seen = Vec::new();
    for Field { ty, .. } in fields {
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
pub(crate) fn parameter_clause(generics: &Generics, bound: &Path) -> WhereClause {
    let mut clause = where_clause(generics, &[], bound);
    for parameter in generics.type_params() {
        let name = &parameter.ident;
        clause.predicates.push(parse_quote!(#name: #bound));
    }
    clause
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
