// A collection is of one session, also if its elements hold no pointer: its array would lie in another heap.
use heapwood::session::{GcMap, GcString, GcVec, Session};
use heapwood::{Config, Rootable};

type Top<'gc> = (GcVec<'gc, u64>, GcMap<'gc, u64, u64>, GcString<'gc>);

fn main() {
    let new = || Session::<Rootable![Top<'_>]>::new(Config::default(), |_| Top::default()).unwrap();
    let (mut outer, mut inner) = (new(), new());
    outer.mutate(|_, of_a| {
        inner.mutate(|b, _| of_a.0.push(b, 1));
    });
    outer.mutate(|_, of_a| {
        inner.mutate(|b, _| of_a.1.insert(b, 1, 1));
    });
    outer.mutate(|_, of_a| {
        inner.mutate(|b, _| of_a.2.push(b, 'x'));
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, _| {
            b.alloc(GcVec::<u64>::with_capacity(a, 5));
        });
    });
}
