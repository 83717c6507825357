//! What gc-arena's own tests assert, where a session has the like, by tests of our own; docs/testing.md has the table. Invariant: each
//! test names the case that it stands for.
use crate::common::{SMALL, VERIFY, in_all_modes};
use heapwood::session::{Gc, GcCell, Mutation, Owned, Session, Stashed, Static, Weak};
use heapwood::{GcStr, Generational, Rootable, Slice, Trace, TypeMap, WithTail, descriptor_of};
use heapwood_gc_testing::{caught, panic_message};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// `simple_allocation`
#[test]
fn a_number_in_the_root() {
    #[derive(Trace)]
    struct Top<'gc> {
        number: Gc<'gc, i32>,
    }
    let mut session = Session::<Rootable![Top<'_>]>::new(SMALL, |m| Top { number: m.alloc(42) }).unwrap();
    session.mutate(|_, top| assert_eq!(*top.number, 42));
}

/// `weak_allocation`: a weak reference is found while the strong one is there, and lost after garbage alone has had collections come.
#[test]
fn weak_until_collections_come_by_themselves() {
    #[derive(Trace)]
    struct Top<'gc> {
        strong: Gc<'gc, GcCell<Option<Gc<'gc, i32>>>>,
        weak: Weak<'gc, i32>,
    }
    let mut session = Session::<Rootable![Top<'_>]>::new(SMALL, |m| {
        let strong = m.alloc(42);
        let weak = m.weak(strong);
        assert!(weak.get(m).is_some());
        Top { strong: m.alloc(GcCell::new(Some(strong))), weak }
    })
    .unwrap();
    session.collect();
    session.mutate(|m, top| {
        assert!(Gc::ptr_eq(top.weak.get(m).unwrap(), top.strong.get().unwrap()));
        top.strong.set(m, None);
    });
    let is_gone = |session: &mut Session<_>| {
        session.mutate(|m, top: &Top<'_>| {
            (0..1000).for_each(|n| _ = m.alloc([n; 8]));
            let found = top.weak.get(m);
            assert!(found.is_none_or(|number| *number == 42));
            found.is_none()
        })
    };
    assert!((0..10_000).any(|_| is_gone(&mut session)), "no collection comes by itself");
}

/// `dyn_sized_allocation`, `all_dropped`, `all_garbage_collected`: owned values of a slice, replaced and ended.
#[test]
fn owned_values_of_a_slice() {
    type All<'gc> = GcCell<Option<Gc<'gc, Slice<Gc<'gc, Owned<Rc<()>>>>>>>;
    in_all_modes(|config| {
        let count = Rc::new(());
        let mut session = Session::<Rootable![All<'_>]>::new(config, |m| {
            GcCell::new(Some(m.alloc_slice(10, |_| m.alloc_owned(count.clone()))))
        })
        .unwrap();
        session.collect();
        assert_eq!(Rc::strong_count(&count), 11);
        session.mutate_root(|_, all| *all = GcCell::default());
        session.collect();
        assert_eq!(Rc::strong_count(&count), 1);
        session.mutate(|m, all| all.set(m, Some(m.alloc_slice(100, |_| m.alloc_owned(count.clone())))));
        assert_eq!(Rc::strong_count(&count), 101);
        drop(session);
        assert_eq!(Rc::strong_count(&count), 1);
    });
}

/// `repeated_allocation_deallocation`: entries come and go at random.
#[test]
fn entries_come_and_go() {
    type Entry<'gc> = (i32, Gc<'gc, Owned<Rc<()>>>);
    type Table<'gc> = Gc<'gc, Slice<GcCell<Option<Gc<'gc, Entry<'gc>>>>>>;
    in_all_modes(|config| {
        let count = Rc::new(());
        let mut session =
            Session::<Rootable![Table<'_>]>::new(config, |m| m.alloc_slice(200, |_| GcCell::default()))
                .unwrap();
        let mut seed = 1u64;
        let mut key = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % 200
        };
        for _ in 0..20 {
            session.mutate(|m, table| {
                for _ in 0..20 {
                    let i = key();
                    let entry = m.alloc((i as i32, m.alloc_owned(count.clone())));
                    if let Some(old) = table[i].replace(m, Some(entry)) {
                        assert_eq!(old.0, i as i32);
                    }
                }
                for _ in 0..20 {
                    let i = key();
                    if let Some(old) = table[i].take(m) {
                        assert_eq!(old.0, i as i32);
                    }
                }
            });
        }
        session.collect();
        session.collect();
        let alive = session.mutate(|_, table| table.iter().filter(|entry| entry.get().is_some()).count());
        assert_eq!(Rc::strong_count(&count), alive + 1);
    });
}

/// `test_layouts`: sizes and alignments up to 16; a larger alignment does not compile.
#[test]
fn layouts() {
    macro_rules! layout {
        ($($size:literal $align:literal,)*) => {$({
            #[repr(align($align))]
            #[derive(Clone, Copy, PartialEq, Debug)]
            struct Aligned([u8; $size]);
            let value = Aligned(std::array::from_fn(|i| i as u8));
            let mut session = Session::<Rootable![Gc<'_, Static<Aligned>>]>::new(VERIFY, |m| m.alloc(Static(value))).unwrap();
            session.collect();
            session.mutate(|_, root| {
                assert_eq!(root.0, value);
                assert!((Gc::as_ptr(*root) as usize).is_multiple_of($align));
            });
        })*};
    }
    layout! { 0 1, 1 1, 2 1, 0 2, 2 2, 4 2, 0 4, 4 4, 8 4, 0 8, 8 8, 16 8, 0 16, 16 16, 32 16, }
}

/// `derive_collect`: what has pointers, and what has none.
#[test]
fn derived_maps() {
    #[derive(Trace)]
    struct Both<'gc>(i32, Gc<'gc, i32>);
    #[derive(Trace)]
    struct Neither(i32, i32);
    #[derive(Trace)]
    #[expect(dead_code)]
    enum Either<'gc> {
        Pointer(Gc<'gc, i32>),
        Number(i32),
    }
    #[derive(Trace)]
    #[expect(dead_code)]
    enum Numbers {
        One(i32),
    }
    #[derive(Trace)]
    struct Two<'gc, 'a>(Gc<'gc, i32>, std::marker::PhantomData<&'a ()>);
    struct Other;
    #[derive(Trace)]
    struct Holds(Static<Other>);
    #[derive(Trace)]
    struct Generic<'gc, T>(Gc<'gc, ()>, T)
    where
        T: Trace;
    assert!(Both::MAP.has_pointers() && Either::MAP.has_pointers() && Two::MAP.has_pointers());
    assert!(!Neither::MAP.has_pointers() && !Numbers::MAP.has_pointers() && !Holds::MAP.has_pointers());
    assert!(<Generic<'_, Gc<'_, u8>> as Trace>::MAP.has_pointers());
    assert_eq!(<Gc<'_, u8> as Trace>::MAP.mask(), TypeMap::POINTER.mask());
    assert_eq!(descriptor_of::<(u64, GcCell<Option<Gc<'_, u8>>>)>().size(), 16);
}

/// `test_map`: the root's type changes and keeps what it held.
#[test]
fn roots_are_mapped() {
    type Numbers<'gc> = Gc<'gc, Slice<Gc<'gc, i32>>>;
    let session =
        Session::<Rootable![Numbers<'_>]>::new(VERIFY, |m| m.collect_slice([m.alloc(42), m.alloc(69)]))
            .unwrap();
    let mut session =
        session.map_root::<Rootable![(Numbers<'_>, Gc<'_, i32>)]>(|_, numbers| (numbers, numbers[0]));
    session.collect();
    session.mutate(|_, root| assert_eq!(*root.1, 42));
    let mut session = session
        .try_map_root::<Rootable![(Numbers<'_>, Gc<'_, i32>)], heapwood::Error>(|_, (numbers, _)| {
            Ok((numbers, numbers[1]))
        })
        .unwrap();
    session.collect();
    session.mutate(|_, root| assert_eq!(*root.1, 69));
}

/// `test_dynamic_roots`: roots by handles, cloned, dropped, found again.
#[test]
fn stashes() {
    let (number, text) = (Rc::new(12), Rc::new(String::from("hello")));
    let counts = || (Rc::strong_count(&number), Rc::strong_count(&text));
    let mut session = Session::<Rootable![u64]>::new(SMALL, |_| 0).unwrap();
    type Number = Rootable![Owned<Rc<i32>>];
    let one: Stashed<Number> = session.mutate(|m, _| m.stash(m.alloc_owned(number.clone())));
    let two = session.mutate(|m, _| m.stash::<Rootable![Owned<Rc<String>>]>(m.alloc_owned(text.clone())));
    session.collect();
    assert_eq!(counts(), (2, 2));
    let third = session.mutate(|m, _| {
        assert_eq!(***m.fetch(&one), 12);
        let text = m.fetch(&two);
        assert_eq!(text.as_str(), "hello");
        m.stash::<Rootable![Owned<Rc<String>>]>(text)
    });
    let clones = (one.clone(), two.clone());
    drop((one, two));
    session.collect();
    assert_eq!(counts(), (2, 2));
    drop(clones);
    session.collect();
    assert_eq!(counts(), (1, 2));
    drop(third);
    session.collect();
    assert_eq!(counts(), (1, 1));
}

/// `test_dynamic_bad_set`
#[test]
fn a_stash_of_another_session() {
    let new = || Session::<Rootable![u64]>::new(SMALL, |_| 0).unwrap();
    let (mut one, mut two) = (new(), new());
    let stashed = one.mutate(|m, _| m.stash::<Rootable![i32]>(m.alloc(44)));
    let refused = panic_message(|| two.mutate(|m, _| _ = m.fetch(&stashed)));
    assert!(refused.contains("another heap"), "{refused}");
}

/// `test_unsize`: a trait object refers to an object; `Gc<dyn Trait>` is not offered.
#[test]
fn trait_objects() {
    fn shown<'gc, T: std::fmt::Display>(object: Gc<'gc, T>) -> &'gc (dyn std::fmt::Display + 'gc) {
        let object: &'gc T = Gc::get(object);
        object
    }
    let mut session = Session::<Rootable![u64]>::new(SMALL, |_| 0).unwrap();
    session.mutate(|m, _| {
        assert_eq!(shown(m.alloc_str("Hello world!")).to_string(), "Hello world!");
        assert_eq!(shown(m.alloc(12345)).to_string(), "12345");
    });
}

/// `test_collection_bounded`, `stop_the_world_works`, `gc_sleep_actually_sleeps`: garbage in many calls is bounded, and few calls
/// collect nothing.
#[test]
fn the_debt_is_paid() {
    let config = SMALL.generational(Generational::Off).idle_collection(false);
    let mut session =
        Session::<Rootable![[Gc<'_, u8>; 32]]>::new(config, |m| std::array::from_fn(|_| m.alloc(0))).unwrap();
    session.mutate(|m, _| (0..80).for_each(|_| _ = m.alloc(0u8)));
    assert_eq!((session.stats().collections, session.debt()), (0, 0), "nothing is due");
    for _ in 0..3000 {
        session.mutate(|m, _| (0..256).for_each(|_| _ = m.alloc([0u64; 8])));
        session.mutate_root(|m, root| _ = std::mem::replace(root, std::array::from_fn(|_| m.alloc(0))));
    }
    let stats = session.stats();
    assert!(stats.collections > 10 && stats.live_bytes < 64 << 10);
    assert!(stats.in_use_bytes < 8 << 20, "{} bytes for garbage", stats.in_use_bytes);
}

/// `cast`, `ptr_magic`: the address of an object stays, and is that of the reference.
#[test]
fn addresses() {
    let mut session =
        Session::<Rootable![Gc<'_, (u8, u32, u64)>]>::new(VERIFY, |m| m.alloc((3, 4, 5))).unwrap();
    let before = session.mutate(|_, root| Gc::as_ptr(*root) as usize);
    session.collect();
    session.mutate(|_, root| {
        assert_eq!(Gc::as_ptr(*root) as usize, before);
        assert!(
            std::ptr::eq(Gc::get(*root), Gc::as_ptr(*root))
                && format!("{:p}", *root) == format!("{before:#x}")
        );
    });
}

/// `field_locks`, `barriers`: cells in nested fields; an old object adopts a new one, strongly and weakly, whatever has been marked.
#[test]
fn old_objects_adopt_new_ones() {
    #[derive(Trace)]
    struct Nested<'gc> {
        strong: GcCell<Option<Gc<'gc, Top<'gc>>>>,
        weak: GcCell<Option<Weak<'gc, Top<'gc>>>>,
    }
    #[derive(Trace)]
    struct Top<'gc> {
        number: GcCell<Gc<'gc, i32>>,
        nested: Nested<'gc>,
    }
    fn new<'gc>(m: &Mutation<'gc>, number: i32) -> Gc<'gc, Top<'gc>> {
        let nested = Nested { strong: GcCell::new(None), weak: GcCell::new(None) };
        m.alloc(Top { number: GcCell::new(m.alloc(number)), nested })
    }
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Gc<'_, Top<'_>>]>::new(config, |m| new(m, 10)).unwrap();
        for round in 0..10 {
            session.collect();
            session.mutate(|m, top| {
                top.number.set(m, m.alloc(round));
                top.nested.strong.set(m, Some(new(m, 17)));
                top.nested.weak.set(m, Some(m.weak(new(m, 13))));
            });
            session.collect_young();
            session.mutate(|m, top| {
                assert_eq!((*top.number.get(), *top.nested.strong.get().unwrap().number.get()), (round, 17));
                top.nested.strong.get().unwrap().nested.strong.set(m, Some(*top));
            });
            session.collect();
            session.mutate(|m, top| {
                assert!(top.nested.weak.get().unwrap().get(m).is_none(), "nothing else led there");
                assert!(Gc::ptr_eq(top.nested.strong.get().unwrap().nested.strong.get().unwrap(), *top));
            });
        }
    });
}

/// `transitive_death`, `basic_finalization`: what a dead object alone led to is dead with it, and no weak reference brings it back.
#[test]
fn death_is_transitive() {
    #[derive(Trace)]
    struct Top<'gc> {
        strong: GcCell<Option<Gc<'gc, Gc<'gc, u8>>>>,
        outer: Weak<'gc, Gc<'gc, u8>>,
        inner: Weak<'gc, u8>,
        kept: (Gc<'gc, u8>, Weak<'gc, u8>),
    }
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Top<'_>]>::new(config, |m| {
            let (inner, kept) = (m.alloc(1), m.alloc(2));
            let outer = m.alloc(inner);
            Top {
                strong: GcCell::new(Some(outer)),
                outer: m.weak(outer),
                inner: m.weak(inner),
                kept: (kept, m.weak(kept)),
            }
        })
        .unwrap();
        session.collect();
        session.mutate(|m, top| {
            assert!(top.outer.get(m).is_some() && top.inner.get(m).is_some());
            top.strong.take(m);
        });
        session.collect();
        session.mutate(|m, top| {
            assert!(top.outer.get(m).is_none() && top.inner.get(m).is_none());
            assert!(Gc::ptr_eq(top.kept.0, top.kept.1.get(m).unwrap()));
        });
    });
}

/// `dyn_collect`, `static_collect_with_param`: foreign values of any type, behind `dyn` if need be.
#[test]
fn foreign_values() {
    trait Action {
        fn act(&self, number: u64) -> u64;
    }
    struct Add(Rc<Cell<u64>>);
    impl Action for Add {
        fn act(&self, number: u64) -> u64 {
            self.0.replace(self.0.get() + number)
        }
    }
    type Foreign<'gc> = (Gc<'gc, Owned<Box<dyn Action>>>, Gc<'gc, Owned<RefCell<HashMap<String, i32>>>>);
    let total = Rc::new(Cell::new(0));
    let mut session = Session::<Rootable![Foreign<'_>]>::new(VERIFY, |m| {
        let action: Box<dyn Action> = Box::new(Add(total.clone()));
        (m.alloc_owned(action), m.alloc_owned(RefCell::new(HashMap::new())))
    })
    .unwrap();
    for n in 0..10 {
        session.collect();
        session.mutate(|_, (action, map)| {
            action.act(n);
            map.borrow_mut().insert(n.to_string(), n as i32);
        });
    }
    session.mutate(|_, (_, map)| assert_eq!(map.borrow().values().sum::<i32>(), 45));
    assert_eq!(total.get(), 45);
    drop(session);
    assert_eq!(Rc::strong_count(&total), 1);
}

/// `test_alloc_slice_with_header`, `test_slice_with_header_copy`, `test_thin_slice`, `test_thin_str`: a header and elements; slices and
/// texts of one word.
#[test]
fn tails_slices_and_texts() {
    assert_eq!(size_of::<Gc<'_, Slice<i32>>>() + size_of::<Option<Gc<'_, GcStr>>>(), 2 * size_of::<usize>());
    in_all_modes(|config| {
        type Kept<'gc> =
            (Gc<'gc, WithTail<u64, u32>>, Gc<'gc, Slice<i32>>, Gc<'gc, GcStr>, Gc<'gc, Slice<()>>);
        let mut session = Session::<Rootable![Kept<'_>]>::new(config, |m| {
            let tail = m.alloc_with_tail(47, 5, |i| i as u32 + 5);
            (tail, m.alloc_copy(&[5, 6, 7, 8, 9]), m.alloc_str("foo"), m.alloc_slice(3, |_| ()))
        })
        .unwrap();
        session.collect();
        session.mutate(|_, (tail, slice, text, nothing)| {
            assert!(*tail.header() == 47 && tail.tail() == [5, 6, 7, 8, 9]);
            assert!(**slice == [5, 6, 7, 8, 9] && slice.into_iter().sum::<i32>() == 35);
            assert!(**text == *"foo" && nothing.len() == 3);
        });
    });
}

/// `test_panicking_slice_with_header_drop`: owned elements of a slice that is never finished are dropped.
#[test]
fn a_slice_that_panics() {
    let count = Rc::new(());
    let mut session = Session::<Rootable![u64]>::new(VERIFY, |_| 0).unwrap();
    let panicked =
        caught(|| {
            session.mutate(|m, _| {
                m.alloc_with_tail(0, 10, |i| {
                    if i < 5 { m.alloc_owned(count.clone()) } else { panic!("test panic") }
                })
                .tail()
                .len()
            })
        });
    assert_eq!(*panicked.unwrap_err().downcast::<&'static str>().unwrap(), "test panic");
    session.collect();
    assert_eq!(Rc::strong_count(&count), 1);
}

/// `zst_cache`: objects without size have an address each.
#[test]
fn objects_without_size() {
    let mut session =
        Session::<Rootable![(Gc<'_, ()>, Gc<'_, ()>)]>::new(VERIFY, |m| (m.alloc(()), m.alloc(()))).unwrap();
    session.collect();
    session.mutate(|_, root| assert!(root.0 == root.1 && !Gc::ptr_eq(root.0, root.1)));
}
