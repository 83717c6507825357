//! Code of several tests: heaps with a small reservation, and a node with links that change.
use heapwood::{Config, Gc, GcCell, Heap, Mutator, Shared, Trace};
pub(crate) use heapwood_gc_testing::panic_message;

#[cfg(target_arch = "x86_64")]
#[path = "../accidents/stack.rs"]
mod stack;
#[cfg(target_arch = "x86_64")]
pub(crate) use stack::on_stack;

/// Collects often: after a megabyte.
pub(crate) const SMALL: Config = Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(1 << 20);

pub(crate) const VERIFY: Config = SMALL.verify(true);

pub(crate) const STRESS: Config = SMALL.stress(true);

pub(crate) fn heap(config: Config) -> Heap {
    // The stack of this thread may be one that an earlier test has used, for a heap at the same addresses.
    scrub();
    // SAFETY: the tests keep their pointers on the stacks of attached threads, in objects and in roots.
    unsafe { Heap::new(config) }.unwrap()
}

#[derive(Trace, Shared)]
pub(crate) struct Node {
    pub(crate) value: u64,
    pub(crate) next: GcCell<Option<Gc<Node>>>,
}

pub(crate) fn node(m: &Mutator, value: u64, next: Option<Gc<Node>>) -> Gc<Node> {
    m.alloc(Node { value, next: GcCell::new(next) })
}

/// The list of `n - 1`, .. , 1, 0.
#[inline(never)]
pub(crate) fn list(m: &Mutator, n: u64) -> Option<Gc<Node>> {
    let mut head = None;
    for value in 0..n {
        head = Some(node(m, value, head));
    }
    head
}

pub(crate) fn assert_list(head: Option<Gc<Node>>, n: u64) {
    let mut at = head;
    for value in (0..n).rev() {
        let Some(node) = at else { panic!("the list ends before {value}") };
        assert_eq!(node.value, value);
        at = node.next.get();
    }
    assert!(at.is_none(), "the list goes on");
}

/// Overwrites stale words of earlier calls on the stack.
#[inline(never)]
pub(crate) fn scrub() {
    std::hint::black_box(&mut [0u8; 256 << 10]);
}
