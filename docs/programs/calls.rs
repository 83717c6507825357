//! Ten million calls that allocate one object of two pointers each, in a session and in gc-arena, which calls `collect_debt` after each. A
//! cargo project with heapwood (a path to `crates/heapwood`) and gc-arena = "=0.5.3" in its dependencies; `cargo run --release session`
//! (or `arena`).

const CALLS: u32 = 10_000_000;

mod session {
    #![forbid(unsafe_code)]
    use heapwood::session::{Gc, Rootable, Session};
    use heapwood::{Config, Trace};

    #[derive(Trace, Rootable)]
    struct Pair<'gc>(Option<Gc<'gc, Pair<'gc>>>, Option<Gc<'gc, Pair<'gc>>>);

    pub fn run() -> u32 {
        let mut session = Session::<Pair>::new(Config::default(), |_| Pair(None, None)).unwrap();
        let empty = |pair: &Pair| u32::from(pair.0.is_none() && pair.1.is_none());
        (0..super::CALLS).map(|_| session.mutate(|m, _| empty(&m.alloc(Pair(None, None))))).sum()
    }
}

mod arena {
    use gc_arena::{Arena, Collect, Gc, Rootable};

    #[derive(Collect)]
    #[collect(no_drop)]
    struct Pair<'gc>(Option<Gc<'gc, Pair<'gc>>>, Option<Gc<'gc, Pair<'gc>>>);

    pub fn run() -> u32 {
        let mut arena = Arena::<Rootable![Pair<'_>]>::new(|_| Pair(None, None));
        let empty = |pair: &Pair| u32::from(pair.0.is_none() && pair.1.is_none());
        let call = |_| {
            let made = arena.mutate(|m, _| empty(&Gc::new(m, Pair(None, None))));
            arena.collect_debt();
            made
        };
        (0..super::CALLS).map(call).sum()
    }
}

fn main() {
    let made = match std::env::args().nth(1).as_deref() {
        Some("session") => session::run(),
        Some("arena") => arena::run(),
        _ => panic!("session or arena?"),
    };
    println!("{made}");
}
