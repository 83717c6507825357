use core::cell::Cell;
use heapwood::{Gc, Shared, Trace};

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

fn main() {}
