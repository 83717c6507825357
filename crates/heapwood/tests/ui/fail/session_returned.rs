//! A pointer is the result of a call.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    let _escaped = session.mutate(|m, _| m.alloc(7u64));
}
