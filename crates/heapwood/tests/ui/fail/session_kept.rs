//! A pointer is kept in a variable outside of the call.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    let mut kept = Vec::new();
    session.mutate(|m, _| kept.push(m.alloc(7u64)));
    session.mutate(|_, _| assert_eq!(*kept[0], 7));
}
