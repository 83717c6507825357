use heapwood::{Gc, NoPointers, Trace};

#[derive(Trace)]
union Word {
    number: u64,
    pointer: Option<Gc<u64>>,
}

#[derive(NoPointers)]
union Bits {
    number: u64,
    float: f64,
}

fn main() {}
