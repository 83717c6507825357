//! Several threads with a session each, and threads inside a call.
use crate::common::{Link, SMALL, assert_list, list, modes, node, walk};
use heapwood::session::{Gc, GcCell, Session, SessionHeap, Stashed};
use heapwood::{Rootable, Shared, Trace};
use heapwood_gc_testing::caught;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};

#[test]
fn sessions_of_several_threads_collect_one_heap() {
    for (mode, config) in modes() {
        let heap = SessionHeap::new(config).unwrap();
        let rounds = if config.stress { 20 } else { 60 };
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let heap = &heap;
                scope.spawn(move || {
                    let mut session = heap
                        .session::<Rootable![GcCell<Link<'_>>]>(|m| GcCell::new(list(m, thread)))
                        .unwrap();
                    for round in 0..rounds {
                        session.mutate(|m, root| {
                            assert_list(root.get(), thread + round);
                            let kept: Vec<_> = (0..20).map(|n| list(m, n * 10)).collect();
                            root.set(m, list(m, thread + round + 1));
                            // Others want to collect meanwhile, and wait.
                            std::thread::yield_now();
                            kept.iter().enumerate().for_each(|(n, head)| assert_list(*head, n as u64 * 10));
                        });
                        if round % 16 == thread {
                            session.collect();
                        }
                    }
                });
            }
        });
        assert!(heap.stats().collections > 0, "in the mode {mode}");
    }
}

/// A thread that does not call is stopped by nobody and waits for nobody.
#[test]
fn a_session_at_rest_does_not_hold_up_collections() {
    let heap = SessionHeap::new(SMALL).unwrap();
    let (sender, receiver) = mpsc::channel::<()>();
    let ready = Barrier::new(2);
    std::thread::scope(|scope| {
        let (theirs, ready) = (&heap, &ready);
        scope.spawn(move || {
            let mut session = theirs.session::<Rootable![Link<'_>]>(|m| list(m, 100)).unwrap();
            ready.wait();
            // Blocked in the system, outside of calls.
            receiver.recv().unwrap();
            session.mutate(|_, root| assert_list(*root, 100));
        });
        ready.wait();
        let mut session = heap.session::<Rootable![u64]>(|_| 0).unwrap();
        for _ in 0..10 {
            session.collect();
        }
        assert!(heap.stats().collections >= 10);
        sender.send(()).unwrap();
    });
}

/// A collection waits for the call of another thread, and that call learns of it. What takes locks meanwhile does not wait for it.
#[test]
fn a_collection_waits_for_the_longest_call() {
    let heap = SessionHeap::new(SMALL.verify(true)).unwrap();
    let (collected, inside) = (AtomicBool::new(false), Barrier::new(2));
    std::thread::scope(|scope| {
        let (theirs, collected, inside) = (heap.clone(), &collected, &inside);
        scope.spawn(move || {
            let mut session = theirs.session::<Rootable![u64]>(|_| 0).unwrap();
            inside.wait();
            session.collect();
            collected.store(true, Ordering::Release);
        });
        let mut session = heap.session::<Rootable![GcCell<Link<'_>>]>(|_| GcCell::default()).unwrap();
        session.mutate(|m, root| {
            inside.wait();
            let mut lists = vec![];
            while !m.is_leave_wanted() {
                lists.push(list(m, 10));
                if lists.len() > 1000 {
                    lists.clear();
                }
            }
            // The other thread asks this one to stop, or a collection is due here: in both cases it goes on.
            let kept: Vec<_> = (0..300).map(|n| list(m, n)).collect();
            let (weak, stashed) = (m.weak(node(m, 1, None)), m.stash::<Rootable![u64]>(m.alloc(1)));
            m.alloc_owned(String::from("owned"));
            m.alloc_copy(&[0u8; 1 << 20]);
            assert!(heap.stats().allocated_bytes > 0);
            heap.release_free_memory();
            let _ = format!("{heap:?}");
            assert!(weak.get(m).is_some() && *m.fetch(&stashed) == 1);
            kept.iter().enumerate().for_each(|(n, head)| assert_list(*head, n as u64));
            assert!(!collected.load(Ordering::Acquire), "nothing is collected during a call");
            root.set(m, kept[299]);
        });
        while !collected.load(Ordering::Acquire) {
            session.collect_if_due();
            std::thread::yield_now();
        }
        session.mutate(|_, root| assert_list(root.get(), 299));
    });
}

#[derive(Trace, Shared)]
struct Tree<'gc> {
    value: u64,
    left: Option<Gc<'gc, Tree<'gc>>>,
    right: Option<Gc<'gc, Tree<'gc>>>,
}

fn full<'gc>(m: &heapwood::session::Mutation<'gc>, depth: u64) -> Gc<'gc, Tree<'gc>> {
    let child = || (depth > 0).then(|| full(m, depth - 1));
    m.alloc(Tree { value: depth, left: child(), right: child() })
}

fn sum(tree: &Tree<'_>) -> u64 {
    tree.value + tree.left.map_or(0, |left| sum(&left)) + tree.right.map_or(0, |right| sum(&right))
}

/// Threads of a scope read what does not change, while the session's thread allocates and stores.
#[test]
fn threads_inside_a_call() {
    for (_, config) in modes() {
        let mut session = Session::<Rootable![Gc<'_, Tree<'_>>]>::new(config, |m| full(m, 8)).unwrap();
        let expected = session.mutate(|_, root| sum(root));
        for _ in 0..3 {
            session.mutate(|m, root| {
                let mut trees = vec![full(m, 5), *root, full(m, 6)];
                let sums = Mutex::new(vec![]);
                std::thread::scope(|scope| {
                    for tree in &trees {
                        scope.spawn(|| sums.lock().unwrap().push(sum(tree)));
                    }
                    let (sender, receiver) = mpsc::channel::<Gc<Tree>>();
                    let reader = scope.spawn(move || receiver.iter().map(|tree| sum(&tree)).sum::<u64>());
                    for _ in 0..30 {
                        sender.send(full(m, 4)).unwrap();
                    }
                    drop(sender);
                    assert_eq!(reader.join().unwrap(), 30 * sum(&full(m, 4)));
                });
                trees.sort_by_key(|tree| sum(tree));
                assert!(sums.into_inner().unwrap().contains(&expected));
                assert_eq!(sum(&trees[2]), expected);
            });
            session.collect();
        }
    }
}

#[derive(Trace, Shared)]
struct Mailbox<'gc> {
    list: GcCell<Option<Gc<'gc, Message<'gc>>>>,
    count: AtomicU64,
}

#[derive(Trace, Shared)]
struct Message<'gc> {
    value: u64,
    tree: Gc<'gc, Tree<'gc>>,
    next: Option<Gc<'gc, Message<'gc>>>,
}

/// Objects that threads share go from session to session by a stash, and are changed there.
#[test]
fn sessions_share_objects() {
    for (mode, config) in modes() {
        let heap = SessionHeap::new(config).unwrap();
        let mut session = heap.session::<Rootable![u64]>(|_| 0).unwrap();
        let mailbox: Stashed<Rootable![Mailbox<'_>]> = session
            .mutate(|m, _| m.stash(m.alloc(Mailbox { list: GcCell::default(), count: AtomicU64::new(0) })));
        let turn = Mutex::new(());
        let messages = if config.stress { 20 } else { 100 };
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let (heap, mailbox, turn) = (heap.clone(), mailbox.clone(), &turn);
                scope.spawn(move || {
                    let mut session = heap.session::<Rootable![u64]>(|_| 0).unwrap();
                    for round in 0..messages {
                        session.mutate(|m, _| {
                            let mailbox = m.fetch(&mailbox);
                            let tree = full(m, round % 4);
                            let _turn = turn.lock().unwrap();
                            let next = mailbox.list.get();
                            mailbox.list.set(m, Some(m.alloc(Message { value: thread, tree, next })));
                            mailbox.count.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
            session.collect();
        });
        session.collect();
        session.mutate(|m, _| {
            let mailbox = m.fetch(&mailbox);
            let all: Vec<_> = std::iter::successors(mailbox.list.get(), |message| message.next).collect();
            assert_eq!(all.len() as u64, mailbox.count.load(Ordering::Relaxed), "in the mode {mode}");
            assert_eq!(all.len() as u64, 3 * messages);
            for message in all {
                assert!(message.value < 3 && sum(&message.tree) == sum(&full(m, message.tree.value)));
            }
        });
    }
}

#[test]
fn a_stash_belongs_to_its_heap() {
    let new = || Session::<Rootable![u64]>::new(SMALL, |_| 0).unwrap();
    let (mut one, mut two) = (new(), new());
    let stashed = one.mutate(|m, _| m.stash::<Rootable![Link<'_>]>(m.alloc(list(m, 9))));
    let wrong = caught(|| two.mutate(|m, _| m.fetch(&stashed).is_some()));
    assert!(wrong.is_err());
    let again = stashed.clone();
    drop(stashed);
    one.collect();
    one.mutate(|m, _| assert_list(*m.fetch(&again), 9));
    // The heap outlives the session with it, and nobody can look into it.
    drop(one);
    let _ = format!("{again:?}");
    drop(again);
}

/// The plain door's heap collects and waits while a call is under way: the session's heap does not.
#[test]
fn other_heaps_wait_beside_a_call() {
    let shared = Arc::new(SessionHeap::new(SMALL.verify(true)).unwrap());
    let other = SessionHeap::new(SMALL.verify(true)).unwrap();
    let mut session = shared.session::<Rootable![u64]>(|_| 0).unwrap();
    let mut beside = other.session::<Rootable![Link<'_>]>(|m| list(m, 50)).unwrap();
    let inside = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = shared.session::<Rootable![u64]>(|_| 0).unwrap();
            inside.wait();
            session.collect();
        });
        session.mutate(|m, _| {
            inside.wait();
            let kept: Vec<_> = (0..200).map(|n| list(m, n)).collect();
            for _ in 0..20 {
                // This thread stops in the other heap while it collects it, and not in this one.
                beside.collect();
                beside.mutate(|m, root| {
                    assert_list(*root, 50);
                    assert_list(list(m, 5000), 5000);
                });
            }
            kept.iter().enumerate().for_each(|(n, head)| assert_list(*head, n as u64));
            assert!(walk(kept[100]).count() == 100);
        });
    });
}
