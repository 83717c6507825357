// Pointers of one session are not stored by another, whichever call is the inner one.
use heapwood::session::{Gc, GcCell, Session};
use heapwood::{Config, Rootable};

type Cell<'gc> = GcCell<Option<Gc<'gc, u64>>>;

fn main() {
    let new = || Session::<Rootable![Cell<'_>]>::new(Config::default(), |_| GcCell::default()).unwrap();
    let (mut outer, mut inner) = (new(), new());
    outer.mutate(|a, _| {
        inner.mutate(|b, of_b| {
            of_b.set(b, Some(a.alloc(1)));
        });
    });
    outer.mutate(|a, of_a| {
        inner.mutate(|b, _| {
            of_a.set(a, Some(b.alloc(2)));
        });
    });
    outer.mutate(|a, of_a| {
        inner.mutate(|b, _| {
            of_a.set(b, Some(a.alloc(3)));
        });
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, of_b| {
            of_b.set(a, Some(b.alloc(4)));
        });
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, _| {
            b.alloc(GcCell::new(Some(a.alloc(5))));
        });
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, _| {
            a.alloc(GcCell::new(Some(b.alloc(6))));
        });
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, _| {
            a.weak(b.alloc(7u64));
        });
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, _| {
            a.weak(a.alloc(8u64)).get(b);
        });
    });
    outer.mutate(|a, _| {
        inner.mutate(|b, _| {
            drop(b.stash::<Rootable![u64]>(a.alloc(9)));
        });
    });
    let (mut one, mut two) = (new(), new());
    one.mutate(|a, of_a| two.mutate(|b, of_b| std::mem::swap(&mut *Box::new((a, of_a)), &mut *Box::new((b, of_b)))));
    one.mutate_root(|_, of_a| two.mutate_root(|_, of_b| std::mem::swap(of_a, of_b)));
}
