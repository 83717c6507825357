//! The mutator behind a session's access is nobody's.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::{Access, Config, Trace};

#[derive(Trace, Rootable)]
struct Root<'gc>(Gc<'gc, u64>);

fn main() {
    let mut session = Session::<Root>::new(Config::default(), |m| Root(m.alloc(7))).unwrap();
    let escaped = session.mutate(|m, _| Access::mutator(m).alloc(8u64));
    println!("{escaped}");
}
