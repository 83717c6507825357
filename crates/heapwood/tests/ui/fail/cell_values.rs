use heapwood::{Gc, GcCell, Trace};

#[derive(Trace, Clone, Copy)]
enum Value {
    Number(i64),
    Node(Gc<Variable>),
}

#[derive(Trace)]
struct Variable {
    value: GcCell<Value>,
}

#[derive(Trace)]
struct Counter {
    count: GcCell<u64>,
    both: GcCell<(Gc<u64>, Gc<u64>)>,
}

fn main() {}
