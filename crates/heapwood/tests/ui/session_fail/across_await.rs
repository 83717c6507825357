// A future with a pointer of a call in it does not leave the call, so nothing is awaited across it.
use heapwood::session::{Gc, Session};
use heapwood::{Config, Rootable};

async fn pause() {}

fn main() {
    let mut session = Session::<Rootable![Gc<'_, u64>]>::new(Config::default(), |m| m.alloc(7)).unwrap();
    let future = session.mutate(|m, root| async move {
        let other = m.alloc(**root);
        pause().await;
        **root + *other
    });
    drop(future);
}
