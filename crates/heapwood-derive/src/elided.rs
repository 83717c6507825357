//! A type whose elided lifetimes, `'_`, get a name: for `heapwood::Rootable!`, which cannot look into the type. Invariant: nothing else
//! of the type changes. gc-arena has a macro for the same purpose.

use proc_macro2::{Group, Spacing, TokenStream, TokenTree};

/// `'name; type` with the name for each `'_`.
pub(crate) fn named(input: TokenStream) -> TokenStream {
    let mut tokens = input.into_iter();
    let name: TokenStream = tokens
        .by_ref()
        .take_while(|token| !matches!(token, TokenTree::Punct(p) if p.as_char() == ';'))
        .collect();
    replace(&name, tokens.collect())
}

fn replace(name: &TokenStream, tokens: TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(p) if p.as_char() == '\'' && p.spacing() == Spacing::Joint => {
                match tokens.next_if(|next| matches!(next, TokenTree::Ident(ident) if ident == "_")) {
                    Some(_) => out.extend(name.clone()),
                    None => out.extend([TokenTree::Punct(p)]),
                }
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(name, group.stream()));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            other => out.extend([other]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elided_lifetimes_get_the_name() {
        let named = |text: &str| named(text.parse().unwrap()).to_string();
        let wanted = |text: &str| text.parse::<TokenStream>().unwrap().to_string();
        assert_eq!(named("'a; Pair<'_, Gc<'_, [T<'_>; 3]>, '_>"), wanted("Pair<'a, Gc<'a, [T<'a>; 3]>, 'a>"));
        assert_eq!(named("'a; (u8, &'static str)"), wanted("(u8, &'static str)"));
    }
}
