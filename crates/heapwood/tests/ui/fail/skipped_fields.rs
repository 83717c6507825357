use core::cell::Cell;
use heapwood::{Gc, NoPointers, Shared, Trace};

// A `Gc` would be hidden from the collector.
#[derive(Trace)]
struct Hidden {
    #[trace(skip)]
    link: Cell<Option<Gc<Hidden>>>,
}

#[derive(Trace)]
enum Borrowing<'a> {
    Nothing,
    Text(#[trace(skip)] &'a str),
}

#[derive(Trace)]
struct Generic<T> {
    #[trace(skip)]
    value: T,
}

fn allocate<T: Trace>(_: T) {}

#[derive(Trace, NoPointers, Shared)]
struct NotShared {
    #[trace(skip)]
    cell: Cell<u64>,
}

fn main() {
    allocate(Generic { value: 1u64 });
    allocate(Generic { value: None::<Gc<u64>> });
}
