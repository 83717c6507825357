use heapwood::{Gc, GcCell, GcVec, Shared, Trace};

#[derive(Trace, Clone, Copy, Shared)]
enum Value {
    Number(u64),
    Text(Gc<u8>),
}

#[derive(Trace, Shared)]
struct Variable {
    value: GcCell<Value>,
}

#[derive(Trace, Shared)]
struct List {
    values: GcVec<Value>,
}

fn main() {}
