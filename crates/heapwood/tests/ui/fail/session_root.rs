//! A session's root without a lifetime, or with a second parameter.
use heapwood::Trace;
use heapwood::session::Rootable;

#[derive(Trace, Rootable)]
struct Plain(u64);

#[derive(Trace, Rootable)]
struct Both<'gc, T>(heapwood::session::Gc<'gc, T>);

fn main() {}
