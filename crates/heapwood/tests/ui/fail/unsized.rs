use heapwood::{Gc, Trace};

trait Shape {}

#[derive(Trace)]
struct Scene {
    first: Option<Gc<dyn Shape>>,
}

#[derive(Trace)]
struct Names(Gc<str>);

#[derive(Trace)]
enum List {
    Numbers(Gc<[u64]>),
}

fn main() {}
