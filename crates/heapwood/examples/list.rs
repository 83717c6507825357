//! A linked list that is built, reversed in place and walked: `Gc`, `GcCell`, and a collection. `cargo run -p heapwood
//! --example list`

use heapwood::{Config, Gc, GcCell, Heap, Mutator, Trace};

#[derive(Trace)]
struct Node {
    value: u64,
    /// It changes after the node was made, so it is a cell.
    next: GcCell<Option<Gc<Node>>>,
}

/// The list of `0..n`, by adding to its front.
fn numbers(m: &Mutator, n: u64) -> Option<Gc<Node>> {
    (0..n).rev().fold(None, |next, value| Some(m.alloc(Node { value, next: GcCell::new(next) })))
}

/// Reverses the list, and returns its former last node.
fn reverse(m: &Mutator, list: Option<Gc<Node>>) -> Option<Gc<Node>> {
    let (mut done, mut rest) = (None, list);
    while let Some(node) = rest {
        rest = node.next.replace(m, done);
        done = Some(node);
    }
    done
}

/// The values of a list, first to last.
fn values(list: Option<Gc<Node>>) -> impl Iterator<Item = u64> {
    std::iter::successors(list, |node| node.next.get()).map(|node| node.value)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // SAFETY: this program keeps `Gc`s on the stacks of attached threads, in objects and in roots only.
    let heap = unsafe { Heap::new(Config::default()) }?;
    let m = heap.attach()?;

    let list = reverse(&m, numbers(&m, 1_000_000));
    println!("first {:?}, sum {}", values(list).next(), values(list).sum::<u64>());

    // A million dead lists: the heap stays small.
    for _ in 0..1_000_000 {
        numbers(&m, 10);
    }
    m.collect();
    let stats = heap.stats();
    println!("alive: {}", stats.live_objects >= 1_000_000 && stats.live_objects < 1_001_000);
    println!("collected while allocating: {}", stats.collections > 1);
    println!("sum {}", values(list).sum::<u64>());
    Ok(())
}
