use heapwood::{Gc, Trace};

#[derive(Trace)]
struct List<T> {
    value: T,
    next: Option<Gc<List<T>>>,
}

fn allocate<T: Trace>(_value: T) {}

fn main() {
    allocate(List { value: String::new(), next: None });
}
