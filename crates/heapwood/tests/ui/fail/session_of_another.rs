//! A pointer of one session is stored in another's root, or by another's access.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    let mut other = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    session.mutate(|m, root| {
        other.mutate(|n, there| {
            there.0.set(n, Some(m.alloc(7u64)));
            root.0.set(n, None);
        });
    });
}
