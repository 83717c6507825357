// What stays with its thread: the session, and pointers to what changes.
use heapwood::session::{Gc, GcCell, Session};
use heapwood::{Config, Rootable};

type Cell<'gc> = GcCell<Option<Gc<'gc, u64>>>;

fn main() {
    let mut session = Session::<Rootable![Gc<'_, Cell<'_>>]>::new(Config::default(), |m| m.alloc(GcCell::default())).unwrap();
    session.mutate(|_, root| {
        std::thread::scope(|scope| {
            scope.spawn(|| root.get());
        });
    });
    std::thread::spawn(move || session.collect());
}
