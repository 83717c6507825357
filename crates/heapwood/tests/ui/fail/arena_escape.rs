use heapwood::{Arena, ArenaRef, Gc, Mutator, Trace};
use std::cell::Cell;

#[derive(Trace)]
struct Node<'a> {
    next: Cell<Option<ArenaRef<'a, Node<'a>>>>,
}

fn ring<'a>(arena: &'a Arena<'_>) -> ArenaRef<'a, Node<'a>> {
    let node = arena.alloc(Node { next: Cell::new(None) });
    node.next.set(Some(node));
    node
}

fn reset(m: &Mutator) -> bool {
    let mut arena = Arena::new(m);
    let node = ring(&arena);
    arena.reset();
    node.next.get().is_some()
}

fn in_an_object(m: &Mutator) -> bool {
    let arena = Arena::new(m);
    let object: Gc<Node<'_>> = m.alloc(Node { next: Cell::new(Some(ring(&arena))) });
    drop(arena);
    object.next.get().is_some()
}

fn of_a_shorter_life(m: &Mutator) -> bool {
    let outer = Arena::new(m);
    let node = ring(&outer);
    {
        let inner = Arena::new(m);
        node.next.set(Some(ring(&inner)));
    }
    node.next.get().is_some()
}

fn main() {}
