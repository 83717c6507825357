//! Settings of several tests, and a tree.
use heapwood::session::{Gc, GcCell, Mutation};
use heapwood::{Concurrent, Config, Generational, Trace};

/// Collects often: after a megabyte.
pub(crate) const SMALL: Config = Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(1 << 20);

pub(crate) const VERIFY: Config = SMALL.verify(true);

pub(crate) const STRESS: Config = SMALL.stress(true);

/// The ways of collecting: what a test of objects and pointers asserts holds in all.
pub(crate) fn modes() -> impl Iterator<Item = (&'static str, Config)> {
    [
        ("plain", SMALL),
        ("verify", VERIFY),
        ("stress", STRESS),
        ("stress and verify", STRESS.verify(true)),
        ("young", SMALL.verify(true).generational(Generational::Always)),
        ("young under stress", STRESS.verify(true).generational(Generational::Always)),
        ("full", SMALL.verify(true).generational(Generational::Off)),
        ("beside the program", SMALL.verify(true).concurrent(Concurrent::Always)),
        ("beside and young", SMALL.concurrent(Concurrent::Always).generational(Generational::Always)),
    ]
    .into_iter()
}

/// Calls `f` with each way of collecting, and says which failed.
pub(crate) fn in_all_modes(f: impl Fn(Config)) {
    for (mode, config) in modes() {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(config)));
        if let Err(panic) = outcome {
            eprintln!("in the mode {mode}:");
            std::panic::resume_unwind(panic);
        }
    }
}

/// A node of lists and trees that changes.
#[derive(Trace)]
pub(crate) struct Node<'gc> {
    pub(crate) value: u64,
    pub(crate) left: GcCell<Option<Gc<'gc, Node<'gc>>>>,
    pub(crate) right: GcCell<Option<Gc<'gc, Node<'gc>>>>,
}

pub(crate) type Link<'gc> = Option<Gc<'gc, Node<'gc>>>;

pub(crate) fn node<'gc>(m: &Mutation<'gc>, value: u64, next: Link<'gc>) -> Gc<'gc, Node<'gc>> {
    m.alloc(Node { value, left: GcCell::new(next), right: GcCell::default() })
}

/// The list of `n - 1`, .. , 1, 0.
pub(crate) fn list<'gc>(m: &Mutation<'gc>, n: u64) -> Link<'gc> {
    (0..n).fold(None, |next, value| Some(node(m, value, next)))
}

pub(crate) fn walk<'gc>(head: Link<'gc>) -> impl Iterator<Item = Gc<'gc, Node<'gc>>> {
    std::iter::successors(head, |node| node.left.get())
}

pub(crate) fn assert_list(head: Link<'_>, n: u64) {
    assert!(walk(head).map(|node| node.value).eq((0..n).rev()), "the list of {n}");
}
