//! A reference into an object is kept.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    let mut kept: Option<&u64> = None;
    session.mutate(|m, _| kept = Some(m.get(m.alloc(7u64))));
    assert_eq!(kept, Some(&7));
}
