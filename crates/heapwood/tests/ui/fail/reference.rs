use heapwood::{Gc, Trace};

#[derive(Trace)]
struct Token<'a> {
    text: &'a str,
    next: Option<Gc<Token<'a>>>,
}

#[derive(Trace)]
struct Pair<'a, T>(u8, Option<&'a T>);

fn main() {}
