//! A pointer is sent to another thread.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    session.mutate(|m, _| {
        let object = m.alloc(7u64);
        std::thread::scope(|scope| _ = scope.spawn(move || *object));
    });
}
