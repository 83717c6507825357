use heapwood::{Gc, NoPointers, Trace};

#[derive(Trace, NoPointers)]
struct Link {
    next: Option<Gc<Link>>,
}

#[derive(NoPointers)]
struct Untraced(u32);

fn main() {}
