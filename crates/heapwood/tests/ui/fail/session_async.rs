//! A pointer is held in a future.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    let _future = session.mutate(|m, root| async move {
        std::future::ready(()).await;
        root.0.set(m, None);
    });
}
