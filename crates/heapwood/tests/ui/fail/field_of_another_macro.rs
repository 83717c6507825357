// An attribute macro below a derive changes the type after the derive has seen it.
use becomes::becomes;
use heapwood::{CellValue, Gc, NoPointers, Shared, Trace};

#[derive(Trace)]
#[becomes(struct Linked { id: u64, link: Option<Gc<[u64; 2]>> })]
struct Linked {
    id: u64,
}

#[derive(Trace)]
#[becomes(struct Tuple(u64, Gc<u64>);)]
struct Tuple(u64);

#[derive(Trace)]
#[becomes(struct Unit(Gc<u64>);)]
struct Unit;

#[derive(Trace)]
#[becomes(struct Generic<T> { value: T, link: Gc<T> })]
struct Generic<T> {
    value: T,
}

// The same field, but of another type.
#[derive(Trace)]
#[becomes(struct Retyped { id: Gc<u64> })]
struct Retyped {
    id: u64,
}

#[derive(Trace)]
#[becomes(enum Choice { None, One { id: u64, link: Gc<u64> } })]
enum Choice {
    None,
    One { id: u64 },
}

#[derive(Trace)]
#[becomes(enum Variants { None, Other(Gc<u64>) })]
enum Variants {
    None,
}

#[derive(Trace)]
#[becomes(enum Payload { Id(Gc<u64>) })]
enum Payload {
    Id(u64),
}

#[derive(NoPointers)]
#[becomes(#[derive(Trace)] struct Plain { id: u64, link: Option<Gc<u64>> })]
struct Plain {
    id: u64,
}

#[derive(Shared)]
#[becomes(#[derive(Trace)] struct Counter(u64, core::cell::Cell<u64>);)]
struct Counter(u64);

#[derive(CellValue)]
#[becomes(#[derive(Trace, Clone, Copy)] struct Value { id: u64, link: Option<Gc<u64>> })]
struct Value {
    id: u64,
}

fn main() {}
