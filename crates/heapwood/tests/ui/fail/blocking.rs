use heapwood::{Gc, GcCell, Mutator, Slice, Trace};

#[derive(Trace)]
struct Node {
    next: GcCell<Option<Gc<Node>>>,
}

fn wait(m: &Mutator, number: Gc<u64>, node: &Node, numbers: &Slice<Gc<u8>>) {
    m.blocking(|| *number);
    m.blocking(|| drop(m.alloc(1u64)));
    m.blocking(|| drop(node.next.get()));
    m.blocking(move || numbers.len());
}

fn main() {}
