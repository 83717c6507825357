//! A session ends, collects, or is replaced inside of its own call.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(Gc<'gc, u64>);

fn session() -> Session<Root<'static>> {
    Session::<Root>::new(Config::default(), |m| Root(m.alloc(7))).unwrap()
}

fn dropped(mut ended: Session<Root<'static>>) {
    ended.mutate(|_, root| {
        drop(ended);
        println!("{}", root.0);
    });
}

fn collected(collects: &mut Session<Root<'static>>) {
    collects.mutate(|m, root| {
        let held = m.alloc(8u64);
        collects.collect();
        println!("{} {held}", root.0);
    });
}

fn replaced(swapped: &mut Session<Root<'static>>) {
    swapped.mutate(|_, root| {
        *swapped = session();
        println!("{}", root.0);
    });
}

fn main() {}
