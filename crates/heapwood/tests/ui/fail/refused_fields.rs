use core::cell::OnceCell;
use heapwood::{Gc, Trace};

#[derive(Trace)]
struct Once {
    first: OnceCell<Gc<u64>>,
}

#[derive(Trace)]
struct Fails {
    result: Result<u64, String>,
}

fn main() {}
