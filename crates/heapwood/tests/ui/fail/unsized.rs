use heapwood::{Gc, Trace};

trait Object {}

#[derive(Trace)]
struct Text {
    text: Gc<str>,
}

#[derive(Trace)]
struct Dynamic {
    object: Option<Gc<dyn Object>>,
}

fn main() {}
