use core::cell::{Cell, RefCell};
use heapwood::{Gc, Trace};

#[derive(Trace)]
struct Node {
    next: Cell<Option<Gc<Node>>>,
}

#[derive(Trace)]
struct Other {
    next: RefCell<Option<Gc<Other>>>,
}

fn main() {}
