//! A pointer of a heap without a session in a session's object.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Config, GcCell, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(GcCell<Option<Gc<'gc, u64>>>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |_| Root(GcCell::new(None))).unwrap();
    let heap = unsafe { heapwood::Heap::new(Config::default()) }.unwrap();
    let plain: heapwood::Gc<u64> = heap.attach().unwrap().alloc(7);
    session.mutate(|m, root| root.0.set(m, Some(plain)));
}
