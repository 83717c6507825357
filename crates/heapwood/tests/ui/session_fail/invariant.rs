// The brand neither shrinks nor grows.
use heapwood::session::{Gc, Mutation};

fn shrink<'long: 'short, 'short>(object: Gc<'long, u64>) -> Gc<'short, u64> {
    object
}

fn lend<'long: 'short, 'short>(m: &'short Mutation<'long>) -> &'short Mutation<'short> {
    m
}

fn main() {}
