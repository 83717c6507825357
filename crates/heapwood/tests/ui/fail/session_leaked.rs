//! A root that hides a pointer: behind a reference that a leak made `'static`, and in a field that is skipped.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, NoPointers, Trace};

/// The root is a reference to a pointer.
struct Leaked;

impl Rootable for Leaked {
    type At<'gc> = &'static Gc<'gc, u64>;
}

/// What is behind the reference is `Send`, and refers into the heap.
#[derive(Trace, NoPointers)]
struct Borrows<'gc>(#[trace(skip)] &'gc u64);

#[derive(Trace, Rootable)]
struct Skips<'gc> {
    #[trace(skip)]
    object: Option<Gc<'gc, u64>>,
}

#[derive(Trace, Rootable)]
struct Outlives<'gc>(Gc<'gc, u64>)
where
    'gc: 'static;

fn main() {
    Session::<Leaked>::new(Config::default(), |m| Box::leak(Box::new(m.alloc(7)))).unwrap();
}
