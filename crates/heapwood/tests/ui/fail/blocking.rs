use heapwood::{Gc, Mutator};

fn a_gc(m: &Mutator, number: Gc<u64>) -> u64 {
    m.blocking(|| *number)
}

fn the_mutator(m: &Mutator) {
    m.blocking(|| m.safepoint());
}

fn an_attachment(m: heapwood::Attached) {
    let other = m.heap();
    other.attach().unwrap().blocking(move || drop(m));
}

fn main() {}
