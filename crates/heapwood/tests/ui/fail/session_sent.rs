//! A session, access to one, or a pointer goes to another thread.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, Trace};
use std::sync::mpsc;

#[derive(Trace, Rootable)]
struct Root<'gc>(Gc<'gc, u64>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |m| Root(m.alloc(7))).unwrap();
    session.mutate(|m, root| {
        std::thread::scope(|scope| {
            scope.spawn(|| _ = m.alloc(8u64));
            let (sender, receiver) = mpsc::channel();
            scope.spawn(move || receiver.iter().map(|object: Gc<u64>| *object).sum::<u64>());
            sender.send(root.0).unwrap();
        });
    });
    std::thread::spawn(move || session.collect());
}
