// A static is for all threads, and a `Gc` is not: it would take a promise to put one there.
use heapwood::Gc;
use std::sync::OnceLock;

static ONE: OnceLock<Gc<u64>> = OnceLock::new();

fn main() {}
