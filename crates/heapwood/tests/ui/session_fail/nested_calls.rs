// No call begins inside another of the same session, and nothing is collected there.
use heapwood::Config;
use heapwood::Rootable;
use heapwood::session::Session;

fn main() {
    let mut session = Session::<Rootable![u64]>::new(Config::default(), |_| 0).unwrap();
    session.mutate(|_, _| session.mutate(|_, _| ()));
    session.mutate(|_, _| session.collect());
    session.mutate(|_, _| drop(session));
}
