use core::cell::Cell;
use heapwood::{Gc, GcCell, Shared, Trace};

#[derive(Trace, Shared)]
struct Counter {
    hits: Cell<u64>,
    next: Option<Gc<Counter>>,
}

#[derive(Trace)]
struct Private(Cell<u64>);

#[derive(Trace, Shared)]
enum Leads {
    Nowhere,
    There(Gc<Private>),
}

// Two words, which no thread reads as one.
#[derive(Trace, Shared)]
struct Nested(GcCell<Option<Option<Gc<u64>>>>);

fn main() {}
