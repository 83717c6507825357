//! Function pointers in the types of fields. They hold no `Gc`, but no implementation of a trait covers all of them: `fn(&T)` is another
//! type for each lifetime. Invariant: only types of the language, and the standard `Option`, are looked into, since another generic
//! type may hold what its argument decides.

use syn::{GenericArgument, PathArguments, Type, TypeFnPtr, TypePath, parse_quote};

/// The type of which traits are asked: each function pointer is `fn()`.
pub(crate) fn erased(ty: &Type) -> Type {
    rewritten(ty, |_| parse_quote!(fn())).unwrap_or_else(|| ty.clone())
}

/// The type that a field must have for that: an `Option` of a function pointer is the standard one.
pub(crate) fn expected(ty: &Type) -> Type {
    rewritten(ty, |function| Type::FnPtr(function.clone())).unwrap_or_else(|| ty.clone())
}

/// None if there is no function pointer. Tuples are not looked into: the field's offsets may be others than those of the erased one.
fn rewritten(ty: &Type, function: fn(&TypeFnPtr) -> Type) -> Option<Type> {
    match ty {
        Type::FnPtr(found) => Some(function(found)),
        Type::Paren(inner) => rewritten(&inner.elem, function),
        Type::Group(inner) => rewritten(&inner.elem, function),
        Type::Array(array) => {
            let (element, len) = (rewritten(&array.elem, function)?, &array.len);
            Some(parse_quote!([#element; #len]))
        }
        Type::Path(path) => {
            let payload = rewritten(payload(path)?, function)?;
            Some(parse_quote!(::core::option::Option<#payload>))
        }
        _ => None,
    }
}

/// The payload of a type that is called `Option`.
fn payload(option: &TypePath) -> Option<&Type> {
    let last = option.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(payload) if arguments.args.len() == 1 => Some(payload),
        _ => None,
    }
}
