//! The shapes of ordinary Rust hold pointers inside a call: each of these loses objects by the plain door (its contract says so).
use crate::common::{Link, assert_list, in_all_modes, list, node};
use heapwood::session::{Gc, Mutation, Session};
use heapwood::{ById, GcStr, Rootable};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::Rc;

/// Memory outside the heap that holds the only pointers, while much more is allocated than a budget.
fn kept<'gc, C>(m: &Mutation<'gc>, make: impl FnOnce() -> C, check: impl FnOnce(C)) {
    let all = make();
    for _ in 0..10 {
        assert_list(list(m, 10_000), 10_000);
    }
    check(all);
}

#[test]
fn collections_of_the_standard_library() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![u64]>::new(config, |_| 0).unwrap();
        session.mutate(|m, _| {
            let lists = || (0..100).map(|n| list(m, n));
            let each = |n: usize, head: Link| assert_list(head, n as u64);
            kept(
                m,
                || lists().collect::<Vec<_>>(),
                |all| all.into_iter().enumerate().for_each(|(n, l)| each(n, l)),
            );
            kept(
                m,
                || lists().map(Box::new).collect::<VecDeque<_>>(),
                |all| all.into_iter().enumerate().for_each(|(n, l)| each(n, *l)),
            );
            kept(
                m,
                || lists().enumerate().collect::<HashMap<_, _>>(),
                |all| all.into_iter().for_each(|(n, l)| each(n, l)),
            );
            kept(
                m,
                || lists().enumerate().collect::<BTreeMap<_, _>>(),
                |all| all.into_iter().for_each(|(n, l)| each(n, l)),
            );
            kept(
                m,
                || lists().collect::<LinkedList<_>>(),
                |all| all.into_iter().enumerate().for_each(|(n, l)| each(n, l)),
            );
            #[repr(align(16384))]
            struct Apart<'gc>(Link<'gc>);
            kept(
                m,
                || lists().take(10).map(Apart).collect::<Vec<_>>(),
                |all| all.iter().enumerate().for_each(|(n, apart)| each(n, apart.0)),
            );
            kept(
                m,
                || Rc::new(RefCell::new(lists().collect::<Vec<_>>())),
                |all| all.borrow().iter().enumerate().for_each(|(n, l)| each(n, *l)),
            );
            kept(
                m,
                || {
                    lists()
                        .enumerate()
                        .map(|(n, l)| Box::new(move || each(n, l)) as Box<dyn Fn() + '_>)
                        .collect::<Vec<_>>()
                },
                |all| all.iter().for_each(|f| f()),
            );
            kept(
                m,
                || (0..100u64).map(|n| Gc::get(m.alloc(n))).collect::<Vec<&u64>>(),
                |all| assert!(all.into_iter().copied().eq(0..100)),
            );
            kept(
                m,
                || (0..100).map(|n| m.alloc_str(&n.to_string())).collect::<HashSet<Gc<GcStr>>>(),
                |all| assert!((0..100).all(|n| all.contains(n.to_string().as_str()))),
            );
            kept(
                m,
                || (0..100u64).map(|n| ById(m.alloc(n))).collect::<HashSet<_>>(),
                |all| assert_eq!(all.iter().map(|n| *n.0).sum::<u64>(), 4950),
            );
            kept(
                m,
                || (0..100u64).map(|n| m.alloc(n)).collect::<BinaryHeap<_>>(),
                |all| assert!(all.into_sorted_vec().into_iter().map(|n| *n).eq(0..100)),
            );
        });
    });
}

/// A comparison that allocates: the sort's buffer holds elements that are nowhere else.
#[test]
fn sorting_with_a_comparison_that_allocates() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![u64]>::new(config, |_| 0).unwrap();
        session.mutate(|m, _| {
            let mut lists: Vec<_> =
                (0..1000u64).map(|n| (n * 7919 % 1000, list(m, n * 7919 % 1000 % 50))).collect();
            lists.sort_by(|a, b| {
                let (a, b) = (node(m, a.0, a.1), node(m, b.0, b.1));
                a.value.cmp(&b.value)
            });
            for (i, (n, head)) in lists.iter().enumerate() {
                assert_eq!(i as u64, *n);
                assert_list(*head, n % 50);
            }
        });
    });
}

#[repr(C, packed)]
struct Packed<T>(u8, T);

/// A generic packed struct hides a pointer off a word's boundary.
#[test]
fn packed_structs() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![u64]>::new(config, |_| 0).unwrap();
        session.mutate(|m, _| {
            kept(
                m,
                || (0..100).map(|n| Packed(1, list(m, n))).collect::<Vec<_>>(),
                |all| {
                    for (n, packed) in all.into_iter().enumerate() {
                        let Packed(one, head) = packed;
                        assert_eq!(one, 1);
                        assert_list(head, n as u64);
                    }
                },
            );
        });
    });
}

/// A future inside a call, polled by hand.
#[test]
fn futures_inside_a_call() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    in_all_modes(|config| {
        let mut session = Session::<Rootable![u64]>::new(config, |_| 0).unwrap();
        session.mutate(|m, _| {
            let polls = Cell::new(0);
            let pause = || {
                let mut first = true;
                std::future::poll_fn(
                    move |_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) },
                )
            };
            let future = async {
                let head = list(m, 60);
                for _ in 0..10 {
                    pause().await;
                    polls.set(polls.get() + 1);
                }
                head
            };
            let mut future = pin!(future);
            let mut context = Context::from_waker(Waker::noop());
            let head = loop {
                assert_list(list(m, 20_000), 20_000);
                if let Poll::Ready(head) = future.as_mut().poll(&mut context) {
                    break head;
                }
            };
            assert_list(head, 60);
            assert_eq!(polls.get(), 10);
        });
    });
}

/// A thread with a stack of its own size, and deep recursion.
#[test]
fn deep_recursion() {
    fn deep<'gc>(m: &Mutation<'gc>, depth: u64) -> Link<'gc> {
        let rest = if depth == 0 { None } else { deep(m, depth - 1) };
        Some(node(m, depth, rest))
    }
    let deepest = || {
        let mut session =
            Session::<Rootable![Link<'_>]>::new(crate::common::VERIFY, |m| deep(m, 5000)).unwrap();
        session.collect();
        session.mutate(|m, root| {
            assert_eq!(crate::common::walk(*root).count(), 5001);
            assert_eq!(crate::common::walk(deep(m, 3000)).count(), 3001);
        });
    };
    std::thread::Builder::new().stack_size(16 << 20).spawn(deepest).unwrap().join().unwrap();
}
