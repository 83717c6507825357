use heapwood::{Gc, Trace};

#[derive(Trace)]
struct Node {
    children: Vec<Gc<Node>>,
}

fn main() {}
