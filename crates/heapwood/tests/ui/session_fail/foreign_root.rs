// The root has one lifetime, that of the call; a pointer of another session cannot be in it.
use heapwood::session::{Gc, Session};
use heapwood::{Config, Rootable, Trace};

#[derive(Trace)]
struct Both<'a, 'gc>(Gc<'a, u64>, Gc<'gc, u64>);

fn within<'a>(foreign: Gc<'a, u64>) {
    let session = Session::<Rootable!['gc => Both<'a, 'gc>]>::new(Config::default(), |m| Both(foreign, m.alloc(1)));
    drop(session);
}

fn main() {
    let mut outer = Session::<Rootable![u64]>::new(Config::default(), |_| 0).unwrap();
    outer.mutate(|m, _| within(m.alloc(2)));
}
