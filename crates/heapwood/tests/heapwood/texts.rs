//! Text in the heap.

use crate::common::*;
use heapwood::{AllocError, Gc, GcStr, Root, Trace, WeakSet};
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

#[derive(Trace)]
struct Person {
    name: Gc<GcStr>,
    nick: Option<Gc<GcStr>>,
}

#[test]
fn texts_come_back_as_written() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    for text in ["", "a", "Ada", "żółw 🐢", &"long ".repeat(100_000)] {
        let name = m.alloc_str(text);
        let person = m.alloc(Person { name, nick: m.try_alloc_str(text).ok() });
        m.collect();
        assert_eq!((&**person.name, person.name.len()), (text, text.len()));
        assert!(person.nick.is_some_and(|nick| *nick == *text && nick == person.name));
        assert_eq!(size_of_val(&name), 8);
    }
}

#[test]
fn texts_have_the_traits_of_str() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let (ada, again, bob) = (m.alloc_str("Ada"), m.alloc_str("Ada"), m.alloc_str("B\n"));
    assert!(ada == again && ada < bob && *ada == "Ada" && *ada != *"Bob" && ada.ends_with("da"));
    assert_eq!(format!("{ada} {ada:?} {bob:?} {ada:>5}"), "Ada \"Ada\" \"B\\n\"   Ada");
    // The tuple keeps what the set has.
    let (kept, names): (_, HashSet<&GcStr>) = ((ada, bob), [&*ada, &*again, &*bob].into());
    assert!(names.len() == 2 && names.contains::<GcStr>(&kept.0) && names.iter().any(|&name| *name == "B\n"));
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    assert_eq!(hasher.hash_one(ada), hasher.hash_one("Ada"), "as what it is borrowed as");
    let table: WeakSet<GcStr> = m.weak_set();
    let first = table.intern(&m, ada);
    assert!(Gc::ptr_eq(table.intern(&m, again), first) && !Gc::ptr_eq(table.intern(&m, bob), first));
    let root: Root<GcStr> = m.root(bob);
    fn other_thread<T: Send>(_: &T) {}
    other_thread(&root);
    assert_eq!(root.get(&m).as_bytes(), kept.1.as_bytes());
}

#[test]
fn a_text_without_room_is_an_error() {
    let heap = heap(SMALL.limit(8 << 20));
    let m = heap.attach().unwrap();
    let text = "x".repeat(16 << 20);
    assert!(matches!(m.try_alloc_str(&text), Err(AllocError::Limit { .. })));
    assert!(panic_message(|| _ = m.alloc_str(&text)).contains("the heap's limit"));
    assert_eq!(*m.alloc_str("x"), "x");
}
