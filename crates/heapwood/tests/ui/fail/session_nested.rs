//! A call of the same session inside of a call: it would collect what the outer one holds.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    session.mutate(|m, _| {
        let held = m.alloc(7u64);
        session.mutate(|_, _| ());
        assert_eq!(*held, 7);
    });
}
