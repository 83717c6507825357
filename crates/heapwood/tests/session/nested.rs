//! Calls of several sessions nest, and end in any way.
use crate::common::{Link, SMALL, VERIFY, assert_list, in_all_modes, list};
use heapwood::session::{Gc, GcCell, Session, SessionHeap};
use heapwood::{Error, HeapError, Rootable};
use heapwood_gc_testing::caught;
use std::cell::RefCell;
use std::rc::Rc;

type Lists = Session<Rootable![GcCell<Link<'_>>]>;

#[test]
fn a_session_is_used_inside_another() {
    in_all_modes(|config| {
        let new = |n| Lists::new(config, |m| GcCell::new(list(m, n))).unwrap();
        let (mut outer, mut inner) = (new(10), new(20));
        for round in 0..20 {
            outer.mutate(|a, of_a| {
                let before: Vec<_> = (0..50).map(|n| list(a, n)).collect();
                let sum = inner.mutate(|b, of_b| {
                    of_b.set(b, list(b, 30 + round));
                    of_a.set(a, list(a, 40 + round));
                    assert_list(list(b, 5000), 5000);
                    // A third, which begins and ends here.
                    let mut third = new(3);
                    third.mutate(|c, of_c| {
                        assert_list(list(c, 3), 3);
                        assert_list(of_c.get(), 3);
                    });
                    third.collect();
                    round
                });
                // The inner session collects as it ends, and the outer one does not.
                inner.collect();
                inner.collect_young();
                assert_eq!(sum, round);
                before.iter().enumerate().for_each(|(n, head)| assert_list(*head, n as u64));
                assert_list(of_a.get(), 40 + round);
                assert_list(list(a, 5000), 5000);
            });
            outer.collect();
            inner.mutate(|_, of_b| assert_list(of_b.get(), 30 + round));
            outer.mutate(|_, of_a| assert_list(of_a.get(), 40 + round));
        }
    });
}

/// Sessions rest and go on in any order, and end in any order.
#[test]
fn many_sessions_of_a_thread() {
    let mut sessions: Vec<Lists> =
        (0..20).map(|n| Lists::new(VERIFY, |m| GcCell::new(list(m, n))).unwrap()).collect();
    for round in 0..60usize {
        let n = round * 7 % sessions.len();
        sessions[n].mutate(|m, root| {
            let length = root.get().map_or(0, |node| node.value + 1);
            assert_list(root.get(), length);
            root.set(m, list(m, length + 1));
        });
        sessions[round * 3 % 20].collect();
    }
    while let Some(last) = sessions.pop() {
        if sessions.len() > 2 {
            sessions.swap_remove(1);
        }
        drop(last);
    }
}

#[test]
fn a_panic_ends_a_call_and_leaves_the_session_whole() {
    in_all_modes(|config| {
        let mut session = Lists::new(config, |m| GcCell::new(list(m, 10))).unwrap();
        let mut other = Lists::new(config, |m| GcCell::new(list(m, 10))).unwrap();
        for n in 11..20 {
            let panicked = caught(|| {
                session.mutate(|m, root| {
                    root.set(m, list(m, n));
                    other.mutate(|m, root| {
                        root.set(m, list(m, n));
                        panic!("inside two calls");
                    })
                })
            });
            assert!(panicked.is_err());
            session.collect();
            other.collect();
            session.mutate(|_, root| assert_list(root.get(), n));
            other.mutate(|m, root| {
                assert_list(root.get(), n);
                assert_list(list(m, 10_000), 10_000);
            });
            let panicked = caught(|| {
                session.mutate_root(|m, root| {
                    *root = GcCell::new(list(m, n + 1));
                    panic!("inside a change of the root");
                })
            });
            assert!(panicked.is_err());
            session.collect();
            session.mutate(|_, root| assert_list(root.get(), n + 1));
            // An element of a slice that is not written is not seen.
            let panicked = caught(|| {
                session.mutate(|m, _| {
                    m.alloc_slice(10, |i| if i == 5 { panic!("no element") } else { list(m, 3) }).len()
                })
            });
            assert!(panicked.is_err());
            session.collect();
        }
        let failed = caught(|| Lists::new(config, |_| panic!("no root")));
        assert!(failed.is_err());
    });
}

#[test]
fn a_session_that_others_could_reach_is_busy() {
    let shared = Rc::new(RefCell::new(Lists::new(SMALL, |m| GcCell::new(list(m, 5))).unwrap()));
    let inner = shared.clone();
    shared.borrow_mut().mutate(|_, root| {
        assert!(inner.try_borrow_mut().is_err(), "a call is under way");
        assert_list(root.get(), 5);
    });
}

#[test]
fn a_thread_has_one_session_of_a_heap() {
    let heap = SessionHeap::new(SMALL).unwrap();
    let mut session = heap.session::<Rootable![u64]>(|_| 1).unwrap();
    let second = |heap: &SessionHeap| heap.session::<Rootable![u64]>(|_| 2).map(drop);
    assert_eq!(second(&heap), Err(Error::Heap(HeapError::AttachedAlready)));
    session.mutate(|_, _| assert_eq!(second(&heap), Err(Error::Heap(HeapError::AttachedAlready))));
    drop(session);
    assert_eq!(second(&heap), Ok(()));
}

/// A session in a thread-local value, which another's destructor uses.
#[test]
fn sessions_end_in_thread_locals() {
    thread_local! {
        static KEPT: RefCell<Option<Lists>> = const { RefCell::new(None) };
        static LATER: Late = const { Late };
    }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            let _ = KEPT.try_with(|kept| {
                if let Some(session) = &mut *kept.borrow_mut() {
                    session.mutate(|m, root| {
                        assert_list(root.get(), 30);
                        assert_list(list(m, 1000), 1000);
                    });
                }
            });
        }
    }
    for _ in 0..4 {
        let thread = std::thread::spawn(|| {
            LATER.with(|_| ());
            KEPT.set(Some(Lists::new(VERIFY, |m| GcCell::new(list(m, 30))).unwrap()));
            LATER.with(|_| ());
            KEPT.with_borrow_mut(|kept| kept.as_mut().unwrap().collect());
        });
        thread.join().unwrap();
    }
}

/// A session that is forgotten stays until its thread ends, and harms nobody.
#[test]
fn forgotten_sessions() {
    let heap = SessionHeap::new(VERIFY).unwrap();
    let theirs = heap.clone();
    let thread = std::thread::spawn(move || {
        std::mem::forget(theirs.session::<Rootable![Gc<'_, u64>]>(|m| m.alloc(7)).unwrap());
    });
    thread.join().unwrap();
    let mut session = heap.session::<Rootable![u64]>(|_| 1).unwrap();
    session.collect();
    session.mutate(|m, _| assert_list(list(m, 10_000), 10_000));
}
