// A collection takes the mutation of its own session alone, even of numbers: its array would be of the other's heap.
use heapwood::session::{GcMap, GcVec, Session};
use heapwood::{Config, Rootable};

fn main() {
    let new = || Session::<Rootable![GcVec<'_, u64>]>::new(Config::default(), |_| GcVec::new()).unwrap();
    let maps = || Session::<Rootable![GcMap<'_, u64, u64>]>::new(Config::default(), |_| GcMap::new()).unwrap();
    let (mut outer, mut inner, mut map) = (new(), new(), maps());
    outer.mutate(|_, of_a| {
        inner.mutate(|b, _| of_a.push(b, 1));
    });
    outer.mutate(|a, _| {
        inner.mutate(|_, of_b| of_b.push(a, 2));
    });
    outer.mutate(|a, _| {
        map.mutate(|_, of_c| of_c.insert(a, 3, 3));
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, _| {
            b.alloc(GcVec::from_iter(a, [4u64]));
        });
    });
}
