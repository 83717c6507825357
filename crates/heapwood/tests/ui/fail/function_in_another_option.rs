// A type that is called `Option` may hold a `Gc` for one function and not for another.
use heapwood::{Gc, Trace};

pub trait Held {
    type Value;
}

impl Held for fn() {
    type Value = u64;
}

impl Held for fn(&u64) {
    type Value = Gc<u64>;
}

#[derive(Trace)]
pub struct Option<F: Held>(F::Value);

#[derive(Trace)]
struct Hidden {
    value: Option<fn(&u64)>,
}

fn main() {}
