//! Pointers kept where no collection looks: in verify mode the first read of such an object says which collection freed it. The read
//! looks in builds with debug assertions.
#![cfg(debug_assertions)]

use crate::common::{Node, VERIFY, heap, list, node, panic_message, scrub};
use heapwood::{Config, Gc, Mutator};
use heapwood_gc_testing::Child;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;

const MANY: u64 = 1000;

thread_local! {
    static KEPT: RefCell<Vec<Gc<Node>>> = const { RefCell::new(Vec::new()) };
}

/// Reads objects again that were kept somewhere.
type Read = Box<dyn Fn() -> u64>;

fn nodes(m: &Mutator) -> impl Iterator<Item = Gc<Node>> + '_ {
    (0..MANY).map(|value| node(m, value, None))
}

/// Keeps many there, and returns what reads them.
type Keep = fn(&Mutator) -> Read;

/// Where programs keep pointers to objects, and no collection looks.
const PLACES: [(&str, Keep); 9] = [
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
    let said = said(VERIFY, |m| {
        let (sender, receiver) = std::sync::mpsc::channel::<&'static Node>();
        // SAFETY: none; this is the mistake.
        nodes(m).for_each(|node| sender.send(unsafe { &*Gc::as_ptr(node) }).unwrap());
        Box::new(move || receiver.try_iter().map(|node| node.next.get().map_or(1, |next| next.value)).sum())
    });
    assert!(said.starts_with("a Gc<heapwood::common::Node> is a word of freed memory"), "{said}");
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
