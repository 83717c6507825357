// A pointer of a call does not outlive it: not as its result, not in a variable outside, not as a reference into an object.
use heapwood::session::{Gc, Session};
use heapwood::{Config, Rootable};

fn main() {
    let mut session = Session::<Rootable![Gc<'_, u64>]>::new(Config::default(), |m| m.alloc(7)).unwrap();
    let result = session.mutate(|_, root| *root);
    let mut kept = None;
    session.mutate(|m, _| kept = Some(m.alloc(8)));
    let mut reference: Option<&u64> = None;
    session.mutate(|_, root| reference = Some(Gc::get(*root)));
    let mut all = Vec::new();
    session.mutate(|m, root| all.push((m, root)));
    drop((result, kept, reference, all));
}
