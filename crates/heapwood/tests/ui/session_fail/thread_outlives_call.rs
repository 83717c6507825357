// A thread of a scope outside of the call does not get a pointer.
use heapwood::session::{Gc, Session};
use heapwood::{Config, Rootable};

fn main() {
    let mut session = Session::<Rootable![Gc<'_, u64>]>::new(Config::default(), |m| m.alloc(7)).unwrap();
    std::thread::scope(|scope| {
        session.mutate(|_, root| {
            let root = *root;
            scope.spawn(move || println!("{root}"));
        });
    });
}
