//! Trees in a session, in a heap without one, and in gc-arena: one of depth 18 is kept, 300 of depth 15 are made and dropped, one a call;
//! and ten million calls that allocate one object. A cargo project with heapwood (a path to `crates/heapwood`) and gc-arena = "=0.5.3" in its
//! dependencies; `cargo run --release session` (`plain`, `arena`, `session-calls`, `arena-calls`).

const CALLS: u32 = 10_000_000;

mod session {
    #![forbid(unsafe_code)]
    use heapwood::session::{Gc, Mutation, Rootable, Session};
    use heapwood::{Config, Trace};

    #[derive(Trace, Rootable)]
    struct Tree<'gc>(Option<Gc<'gc, Tree<'gc>>>, Option<Gc<'gc, Tree<'gc>>>);

    fn full<'gc>(m: &Mutation<'gc>, depth: u32) -> Tree<'gc> {
        let child = || (depth > 0).then(|| m.alloc(full(m, depth - 1)));
        Tree(child(), child())
    }

    fn count(tree: &Tree<'_>) -> u32 {
        1 + tree.0.map_or(0, |tree| count(&tree)) + tree.1.map_or(0, |tree| count(&tree))
    }

    pub fn run(calls: u32, depth: u32) -> u32 {
        let mut session = Session::<Tree>::new(Config::default(), |m| full(m, 18)).unwrap();
        let sum = (0..calls)
            .fold(0u32, |sum, _| sum.wrapping_add(session.mutate(|m, _| count(&m.alloc(full(m, depth))))));
        sum.wrapping_add(session.mutate(|_, kept| count(kept)))
    }
}

mod plain {
    use heapwood::{Config, Gc, Heap, Mutator, Trace};

    #[derive(Trace)]
    struct Tree(Option<Gc<Tree>>, Option<Gc<Tree>>);

    fn full(m: &Mutator, depth: u32) -> Tree {
        let child = || (depth > 0).then(|| m.alloc(full(m, depth - 1)));
        Tree(child(), child())
    }

    fn count(tree: &Tree) -> u32 {
        1 + tree.0.map_or(0, |tree| count(&tree)) + tree.1.map_or(0, |tree| count(&tree))
    }

    pub fn run(calls: u32, depth: u32) -> u32 {
        // SAFETY: `Gc`s are on the stack and in objects only.
        let heap = unsafe { Heap::new(Config::default()) }.unwrap();
        let m = heap.attach().unwrap();
        let kept = m.alloc(full(&m, 18));
        let sum = (0..calls).fold(0u32, |sum, _| sum.wrapping_add(count(&m.alloc(full(&m, depth)))));
        sum.wrapping_add(count(&kept))
    }
}

mod arena {
    use gc_arena::{Arena, Collect, Gc, Mutation, Rootable};

    #[derive(Collect)]
    #[collect(no_drop)]
    struct Tree<'gc>(Option<Gc<'gc, Tree<'gc>>>, Option<Gc<'gc, Tree<'gc>>>);

    fn full<'gc>(m: &Mutation<'gc>, depth: u32) -> Gc<'gc, Tree<'gc>> {
        let child = || (depth > 0).then(|| full(m, depth - 1));
        let (left, right) = (child(), child());
        Gc::new(m, Tree(left, right))
    }

    fn count(tree: &Tree<'_>) -> u32 {
        1 + tree.0.map_or(0, |tree| count(&tree)) + tree.1.map_or(0, |tree| count(&tree))
    }

    pub fn run(calls: u32, depth: u32) -> u32 {
        let mut arena = Arena::<Rootable![Gc<'_, Tree<'_>>]>::new(|m| full(m, 18));
        let sum = (0..calls).fold(0u32, |sum, _| {
            let nodes = arena.mutate(|m, _| count(&full(m, depth)));
            arena.collect_debt();
            sum.wrapping_add(nodes)
        });
        sum.wrapping_add(arena.mutate(|_, kept| count(kept)))
    }
}

fn main() {
    let sum = match std::env::args().nth(1).as_deref() {
        Some("session") => session::run(300, 15),
        Some("plain") => plain::run(300, 15),
        Some("arena") => arena::run(300, 15),
        Some("session-calls") => session::run(CALLS, 0),
        Some("arena-calls") => arena::run(CALLS, 0),
        _ => panic!("session, plain, arena, session-calls or arena-calls?"),
    };
    println!("{sum}");
}
