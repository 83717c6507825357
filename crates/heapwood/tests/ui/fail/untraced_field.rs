//! A type of one's own that is not traced.
use heapwood::session::{Gc, Rootable};
use heapwood::{GcCell, Trace};

struct Position {
    line: u32,
}

#[derive(Trace, Rootable)]
struct Root<'gc> {
    at: Position,
    tokens: GcCell<Option<Gc<'gc, u64>>>,
}

fn main() {}
