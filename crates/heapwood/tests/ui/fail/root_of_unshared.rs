use core::cell::Cell;
use heapwood::{Root, Trace};

#[derive(Trace)]
struct Counter {
    hits: Cell<u64>,
}

fn on_another_thread<F: FnOnce() + Send + 'static>(_work: F) {}

fn send(root: Root<Counter>) {
    on_another_thread(move || drop(root));
}

fn lend<'a>(root: &'a Root<Counter>) -> &'a (dyn Sync + 'a) {
    root
}

fn main() {}
