// An object holds no collection of the standard library, whose memory the collector does not see.
use heapwood::Trace;
use heapwood::session::Gc;

#[derive(Trace)]
struct Top<'gc> {
    all: Vec<Gc<'gc, u64>>,
}

#[derive(Trace)]
struct Changing<'gc> {
    one: std::cell::Cell<Option<Gc<'gc, u64>>>,
}

fn main() {}
