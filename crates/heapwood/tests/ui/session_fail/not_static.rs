// A pointer hides neither in a `Static`, nor in an `Owned`, nor in `dyn Any`.
use heapwood::session::{Gc, Session, Static};
use heapwood::{Config, Rootable};

fn main() {
    let mut session = Session::<Rootable![Gc<'_, u64>]>::new(Config::default(), |m| m.alloc(7)).unwrap();
    session.mutate(|m, root| {
        m.alloc(Static(*root));
    });
    session.mutate(|m, root| {
        m.alloc_owned(vec![*root]);
    });
    session.mutate(|_, root| {
        let _: Box<dyn std::any::Any> = Box::new(*root);
    });
}
