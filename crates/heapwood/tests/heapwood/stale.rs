//! Pointers kept where no collection looks: in verify mode the first read of such an object says which collection freed it. The read
//! looks in builds with debug assertions.
#![cfg(debug_assertions)]

use crate::accidents::Once;
use crate::common::{Node, VERIFY, heap, list, node, panic_message, scrub};
use heapwood::{Config, Gc, Mutator};
use heapwood_gc_testing::Child;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const MANY: u64 = 1000;

thread_local! {
    static KEPT: RefCell<Vec<Gc<Node>>> = const { RefCell::new(Vec::new()) };
}

/// Reads objects again that were kept somewhere.
type Read = Box<dyn Fn() -> u64>;

fn nodes(m: &Mutator) -> impl Iterator<Item = Gc<Node>> + '_ {
    (0..MANY).map(|value| node(m, value, None))
}

type Waiting = RefCell<Pin<Box<dyn Future<Output = u64>>>>;

/// The sum of those that are ready.
fn poll(futures: &[Waiting]) -> u64 {
    let mut sum = 0;
    for future in futures {
        if let Poll::Ready(value) = future.borrow_mut().as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            sum += value;
        }
    }
    sum
}

/// Keeps many there, and returns what reads them.
type Keep = fn(&Mutator) -> Read;

/// Where programs keep pointers to objects, and no collection looks.
const PLACES: [(&str, Keep); 12] = [
    ("Vec", |m| {
        let kept: Vec<_> = nodes(m).collect();
        Box::new(move || kept.iter().map(|node| node.value).sum())
    }),
    ("Box", |m| {
        let kept: Vec<_> = nodes(m).map(Box::new).collect();
        Box::new(move || kept.iter().map(|node| node.value).sum())
    }),
    ("HashMap", |m| {
        let kept: HashMap<_, _> = nodes(m).map(|node| (node.value, node)).collect();
        Box::new(move || kept.values().map(|node| node.value).sum())
    }),
    ("BTreeMap", |m| {
        let kept: BTreeMap<_, _> = nodes(m).map(|node| (node.value, node)).collect();
        Box::new(move || kept.values().map(|node| node.value).sum())
    }),
    ("VecDeque", |m| {
        let kept: VecDeque<_> = nodes(m).collect();
        Box::new(move || kept.iter().map(|node| node.value).sum())
    }),
    ("pairs of a byte and an Option", |m| {
        let kept: Vec<_> = nodes(m).map(|node| (1u8, Some(node))).collect();
        Box::new(move || kept.iter().map(|(_, node)| node.unwrap().value).sum())
    }),
    ("futures", |m| {
        // Each waits once, with a node in its state.
        let kept: Vec<Waiting> = nodes(m)
            .map(|node| async move {
                Once::default().await;
                node.value
            })
            .map(|future| RefCell::new(Box::pin(future) as Pin<Box<_>>))
            .collect();
        assert_eq!(poll(&kept), 0);
        Box::new(move || poll(&kept))
    }),
    ("thread_local", |m| {
        KEPT.with_borrow_mut(|kept| kept.extend(nodes(m)));
        Box::new(|| KEPT.take().iter().map(|node| node.value).sum())
    }),
    ("closures", |m| {
        let kept: Vec<_> = nodes(m).map(|node| Box::new(move || node.value) as Read).collect();
        Box::new(move || kept.iter().map(|read| read()).sum())
    }),
    ("channel", |m| {
        let (sender, receiver) = std::sync::mpsc::channel();
        nodes(m).for_each(|node| sender.send(node).unwrap());
        Box::new(move || receiver.try_iter().map(|node| node.value).sum())
    }),
    ("the head of a list in a Box", |m| {
        let kept = Box::new(list(m, MANY));
        Box::new(move || {
            let first = *kept;
            std::iter::successors(first, |node| node.next.get()).map(|node| node.value).sum()
        })
    }),
    ("Rc", |m| {
        let kept = std::rc::Rc::new(RefCell::new(nodes(m).collect::<Vec<_>>()));
        Box::new(move || kept.borrow().iter().map(|node| node.value).sum())
    }),
];

/// What is said when they are read after as many bytes were allocated as a program allocates soon.
fn said(config: Config, place: Keep) -> String {
    let heap = heap(config);
    let m = heap.attach().unwrap();
    let read = place(&m);
    scrub();
    for value in 0..200_000 {
        black_box(node(&m, value, None));
    }
    assert!(heap.stats().collections > 0);
    panic_message(|| assert_ne!(black_box(read()), 0))
}

#[test]
fn a_read_of_an_object_that_a_collection_freed_says_so() {
    for (name, place) in PLACES {
        let said = said(VERIFY, place);
        let made =
            said.strip_prefix("a Gc<heapwood::common::Node> leads to heapwood::common::Node, made at ");
        let says = made.is_some_and(|made| made.contains("/common.rs:") && made.contains(", 16 bytes at 0x"));
        assert!(
            says && said.contains("that collection ") && said.contains("keep it in an object"),
            "{name}: {said}"
        );
    }
}

/// The wrong heap, in each of the ways, and a store of a stale pointer.
#[test]
fn a_store_that_mixes_heaps_or_revives_an_object_is_refused() {
    let heaps = [heap(VERIFY), heap(VERIFY)];
    let [a, b] = heaps.each_ref().map(|heap| heap.attach().unwrap());
    let [in_a, in_b] = [&a, &b].map(|m| node(m, 1, None));
    let said = panic_message(|| in_a.next.set(&b, None));
    assert_eq!(said, "a cell of an object is set with a mutator of another heap");
    let said = panic_message(|| in_a.next.set(&a, Some(in_b)));
    assert!(said.starts_with("a pointer to an object of another heap is stored"), "{said}");
    let kept: Vec<_> = nodes(&a).collect();
    scrub();
    a.collect();
    let said = panic_message(|| kept.iter().for_each(|&node| in_a.next.set(&a, Some(node))));
    assert!(said.starts_with("a pointer is stored that leads to heapwood::common::Node, made at"), "{said}");
    in_a.next.set(&a, Some(in_a));
}

/// References are read without a look, but what is read from a freed object leads nowhere.
#[test]
fn a_reference_to_a_freed_object_is_named_where_it_is_followed_further() {
    let places: [(&str, Keep); 2] = [
        ("channel", |m| {
            let (sender, receiver) = std::sync::mpsc::channel();
            references(m).for_each(|node| sender.send(node).unwrap());
            Box::new(move || receiver.try_iter().map(next).sum())
        }),
        ("Vec", |m| {
            let kept: Vec<_> = references(m).collect();
            Box::new(move || kept.iter().copied().map(next).sum())
        }),
    ];
    for (name, place) in places {
        let said = said(VERIFY, place);
        assert!(said.starts_with("a Gc<heapwood::common::Node> is a word of freed memory"), "{name}: {said}");
    }
}

/// As a borrow from a `Gc` that is used no more.
fn references(m: &Mutator) -> impl Iterator<Item = &'static Node> + '_ {
    // SAFETY: none; this is the mistake.
    nodes(m).map(|node| unsafe { &*Gc::as_ptr(node) })
}

fn next(node: &Node) -> u64 {
    node.next.get().map_or(1, |next| next.value)
}

/// Two sorted halves, to be merged.
#[inline(never)]
fn fill(m: &Mutator, places: &mut [Gc<Node>]) {
    for half in [0, 1] {
        for i in 0..places.len() / 2 {
            places[half * places.len() / 2 + i] = node(m, 2 * i as u64 + half as u64, None);
        }
    }
}

/// Collects now and then, as a comparison that allocates does.
fn compare(m: &Mutator) -> impl FnMut(&Gc<Node>, &Gc<Node>) -> Ordering + '_ {
    let mut compared = 0;
    move |a, b| {
        compared += 1;
        if compared % 512 == 0 {
            m.collect();
        }
        a.value.cmp(&b.value)
    }
}

/// Elements lie in the sort's buffer, and nowhere else, while a comparison allocates; the stack has only those that are not there. (So
/// does the standard library sort 4096 elements of two runs: it merges them by way of a buffer.)
#[test]
fn a_comparison_that_collects_is_named() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let mut places = [node(&m, 0, None); 4096];
    fill(&m, &mut places);
    let said = panic_message(|| places.sort_by(compare(&m)));
    assert!(
        said.starts_with("a Gc<heapwood::common::Node> leads to heapwood::common::Node, made at "),
        "{said}"
    );
    // It is right while something else keeps the elements.
    fill(&m, &mut places);
    let kept = m.keep(m.alloc_slice(places.len(), |i| places[i]));
    places.sort_by(compare(&m));
    assert!((0..4096).eq(places.iter().map(|node| node.value)) && kept.len() == 4096);
}

/// What is on the stack of a thread that has left the heap is not looked at any more.
#[test]
fn a_gc_that_is_used_after_its_thread_has_left_is_named() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let kept: [_; 32] = std::array::from_fn(|i| node(&m, i as u64, None));
    drop(m);
    std::thread::scope(|scope| {
        scope.spawn(|| heap.attach().unwrap().collect());
    });
    let said = panic_message(|| assert_ne!(kept.iter().map(|node| node.value).sum::<u64>(), 0));
    assert!(said.contains("16 bytes at 0x") && said.contains("that collection 1 freed"), "{said}");
}

#[test]
fn a_gc_that_is_used_after_its_heap_has_ended_is_named() {
    let ended = Child::new().run(|| {
        let heap = heap(VERIFY);
        let m = heap.attach().unwrap();
        let kept = node(&m, 7, None);
        drop((m, heap));
        println!("{}", kept.value);
    });
    assert_eq!(ended.status.signal(), Some(11), "{ended}");
    ended.says("is used, which lies in a heap that has ended");
}
