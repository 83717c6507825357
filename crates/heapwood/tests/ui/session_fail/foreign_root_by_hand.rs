// The same with an implementation of `Rootable` by hand.
use heapwood::session::{Gc, Rootable};
use heapwood::Trace;

#[derive(Trace)]
struct Both<'a, 'gc>(Gc<'a, u64>, Gc<'gc, u64>);

struct Foreign<'a>(std::marker::PhantomData<&'a ()>);

impl<'a, 'gc> Rootable<'gc> for Foreign<'a> {
    type Root = Both<'a, 'gc>;
}

fn main() {}
