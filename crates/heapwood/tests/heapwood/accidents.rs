//! What safe-looking programs do wrong, beside `stale.rs`: several threads, several heaps, and pointers off their alignment. In each
//! case it is right, refused or named; or, where nobody looks, freed memory is read that verify mode has filled. docs/testing.md has the table.

use crate::common::{Node, SMALL, STRESS, VERIFY, assert_list, heap, list, node, panic_message, scrub};
use heapwood::session::{self, Rootable, Session};
use heapwood::{Gc, GcCell, GcVec, Heap, Mutator, Stop, Trace};
use heapwood_gc_testing::Child;
use std::cell::RefCell;
use std::future::Future;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::pin::{Pin, pin};
use std::sync::{Barrier, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;

/// What verify mode fills freed memory with.
const FILL: u64 = 0xdbdb_dbdb_dbdb_dbdb;

const MANY: usize = 64;

#[inline(never)]
fn numbers(m: &Mutator) -> [&'static u64; MANY] {
    // SAFETY: none; this is the mistake. In a program it is a borrow from a `Gc` that nobody uses any more.
    std::array::from_fn(|i| unsafe { &*Gc::as_ptr(m.alloc(i as u64)) })
}

/// Reads what references lead to, when it is told to.
fn read(numbers: impl IntoIterator<Item = &'static u64>, go: mpsc::Receiver<()>) -> Vec<u64> {
    go.recv().unwrap();
    // SAFETY: none; in verify mode the memory is still there.
    numbers.into_iter().map(|number| unsafe { std::ptr::from_ref(number).read_volatile() }).collect()
}

/// A thread with references in its closure, or that gets them by a channel.
#[inline(never)]
fn reader<'s>(
    scope: &'s thread::Scope<'s, '_>,
    m: &Mutator,
    told: mpsc::Receiver<()>,
    by_channel: bool,
) -> thread::ScopedJoinHandle<'s, Vec<u64>> {
    if !by_channel {
        let numbers = numbers(m);
        return scope.spawn(move || read(numbers, told));
    }
    let (sender, receiver) = mpsc::channel();
    let reads = scope.spawn(move || read(receiver.iter().collect::<Vec<_>>(), told));
    numbers(m).iter().for_each(|&number| sender.send(number).unwrap());
    reads
}

/// References on threads that are not attached keep nothing alive, and nothing is said; the memory is not used again for a while.
#[test]
fn a_reference_on_a_thread_that_is_not_attached_reads_what_fills_freed_memory() {
    for by_channel in [false, true] {
        let heap = heap(VERIFY);
        let m = heap.attach().unwrap();
        let (go, told) = mpsc::channel();
        let read = thread::scope(|scope| {
            let reads = reader(scope, &m, told, by_channel);
            scrub();
            m.collect();
            go.send(()).unwrap();
            reads.join().unwrap()
        });
        // Stale words of this stack may keep a few.
        assert!(read.iter().zip(0..).all(|(&read, number)| read == number || read == FILL), "{read:x?}");
        assert!(read.iter().filter(|&&read| read == FILL).count() > MANY / 2, "{by_channel} {read:x?}");
    }
}

/// In a session such a thread reads what is there, however much is allocated meanwhile.
#[test]
fn a_reference_on_another_thread_is_right_in_a_session() {
    let mut session = Session::<Head>::new(STRESS, |_| Head(GcCell::new(None))).unwrap();
    let sum: u64 = session.mutate(|m, _| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel::<&u64>();
            let sum = scope.spawn(move || receiver.iter().sum());
            for number in 0..1000u64 {
                sender.send(m.get(m.alloc(number))).unwrap();
                m.alloc([0u64; 64]);
            }
            drop(sender);
            sum.join().unwrap()
        })
    });
    assert_eq!(sum, 499_500);
}

/// An object of one heap is given to another: to its new object, its collections, its roots and its weak references.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions look")]
fn an_object_of_another_heap_is_refused_wherever_it_goes() {
    let heaps = [heap(VERIFY), heap(VERIFY)];
    let [a, b] = heaps.each_ref().map(|heap| heap.attach().unwrap());
    let in_b = node(&b, 1, None);
    let vec: Gc<GcVec<Gc<Node>>> = a.alloc(GcVec::new());
    let said = panic_message(|| vec.push(&a, in_b));
    assert!(said.starts_with("a pointer to an object of another heap is stored"), "{said}");
    let misuses: [&dyn Fn(); 3] =
        [&|| drop(a.root(in_b)), &|| _ = node(&a, 2, Some(in_b)), &|| _ = a.alloc((1u8, [None, Some(in_b)]))];
    for misuse in misuses {
        let said = panic_message(misuse);
        assert!(said.starts_with("a pointer to an object of another heap is "), "{said}");
    }
    let misuses: [&dyn Fn(); 2] = [&|| _ = a.weak(in_b), &|| _ = a.ephemeron(in_b, a.alloc(1u64))];
    for misuse in misuses {
        let said = panic_message(misuse);
        assert!(
            said.contains("is no object of this heap: refer weakly to what allocation returned"),
            "{said}"
        );
    }
}

/// What a new slice leads to is not looked at: it is named when it is followed after it has died.
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions look")]
fn an_object_of_another_heap_in_a_slice_is_named_when_it_has_died() {
    let heaps = [heap(VERIFY), heap(VERIFY)];
    let [a, b] = heaps.each_ref().map(|heap| heap.attach().unwrap());
    let slice = a.alloc_slice(MANY, |i| node(&b, i as u64, None));
    scrub();
    b.collect();
    let said = panic_message(|| slice.iter().for_each(|node| assert_ne!(node.value, 1 << 40)));
    assert!(
        said.starts_with("a Gc<heapwood::common::Node> leads to heapwood::common::Node, made at "),
        "{said}"
    );
}

/// The compiler refuses a `Gc` in a packed struct, but for generic ones.
#[repr(Rust, packed)]
struct Shifted<T: Copy>(#[allow(dead_code, reason = "it shifts")] u8, T);

#[inline(never)]
fn shifted(m: &Mutator) -> [Shifted<Gc<Node>>; MANY] {
    std::array::from_fn(|i| Shifted(1, node(m, i as u64, None)))
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions look")]
fn a_gc_off_its_alignment_on_the_stack_is_named_when_it_is_followed() {
    let heap = heap(VERIFY);
    let m = heap.attach().unwrap();
    let kept = black_box(shifted(&m));
    scrub();
    m.collect();
    let said = panic_message(|| kept.iter().for_each(|shifted| assert_ne!({ shifted.1 }.value, 1 << 40)));
    assert!(
        said.starts_with("a Gc<heapwood::common::Node> leads to heapwood::common::Node, made at "),
        "{said}"
    );
}

#[derive(Trace)]
struct Link<'gc> {
    value: u64,
    next: Option<session::Gc<'gc, Link<'gc>>>,
}

#[derive(Trace, Rootable)]
struct Head<'gc>(GcCell<Option<session::Gc<'gc, Link<'gc>>>>);

/// A future that is pending once.
#[derive(Default)]
pub(crate) struct Once(bool);

impl Future for Once {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// What no scan of words would find: a pointer off its alignment, in a future that waits, in a channel of one thread.
#[test]
fn hidden_pointers_are_right_in_a_session() {
    let mut session = Session::<Head>::new(VERIFY.stress(true), |_| Head(GcCell::new(None))).unwrap();
    for round in 0..10 {
        session.mutate(|m, _| {
            let link = |value| m.alloc(Link { value, next: None });
            let shifted: [_; MANY] = std::array::from_fn(|i| Shifted(1, link(i as u64)));
            let (sender, receiver) = mpsc::channel();
            let mut future = pin!(async {
                let (link, numbers) = (link(round), [1, 2, 3].map(|number| m.get(m.alloc(number))));
                Once::default().await;
                link.value + numbers.into_iter().sum::<u64>()
            });
            let mut poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(poll().is_pending());
            (0..1000).for_each(|value| sender.send((1u8, Some(link(value)))).unwrap());
            assert_eq!(poll(), Poll::Ready(round + 6));
            assert!((0..1000).eq(receiver.try_iter().map(|(_, link)| link.unwrap().value)));
            assert!((0..).zip(&shifted).all(|(i, shifted)| { shifted.1 }.value == i));
        });
    }
    assert!(session.stats().collections >= 10);
}

/// Two attached threads take turns with a lock, and allocate while they have it.
fn share_a_lock(heap: &Heap, blocks: bool, threads: usize) {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let m = heap.attach().unwrap();
                for _ in 0..50 {
                    let mut count = if blocks { m.blocking(|| lock.lock()) } else { lock.lock() }.unwrap();
                    let kept = list(&m, 100);
                    m.collect();
                    assert_list(kept, 100);
                    *count += 1;
                }
            });
        }
    });
    assert_eq!(lock.into_inner().unwrap(), 50 * threads);
}

#[test]
fn a_lock_is_held_over_allocations_by_threads_that_block_for_it() {
    share_a_lock(&heap(SMALL), true, 4);
    share_a_lock(&heap(VERIFY), true, 2);
    // Signals stop who waits for the lock, too.
    share_a_lock(&heap(SMALL.stop(Stop::Signals)), false, 4);
}

/// Without `blocking` both wait for ever: one for the lock, and the other's collection for that one. Its name is said.
#[test]
fn a_lock_that_is_waited_for_outside_of_a_blocking_region_is_named() {
    let mut child = Child::new().start(|| {
        let heap = heap(VERIFY);
        let (lock, both) = (Mutex::new(()), Barrier::new(2));
        thread::scope(|scope| {
            let waits = || {
                let _m = heap.attach().unwrap();
                both.wait();
                both.wait();
                drop(lock.lock());
            };
            thread::Builder::new().name("impatient".into()).spawn_scoped(scope, waits).unwrap();
            both.wait();
            let m = heap.attach().unwrap();
            let guard = lock.lock();
            both.wait();
            m.collect();
            drop(guard);
        });
    });
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.find(|line| line.starts_with("heapwood: "));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = said.expect("the child ended and said nothing");
    assert!(said.contains("a collection waits for thread") && said.contains("(impatient)"), "{said}");
    assert!(said.contains("Calls that block belong into a blocking region"), "{said}");
}

/// A call of another session may refer to this one's objects for as long as it lasts: none of either is collected meanwhile.
#[test]
fn objects_of_two_sessions_refer_to_each_other_in_a_call() {
    let new = || Session::<Head>::new(VERIFY, |_| Head(GcCell::new(None))).unwrap();
    let (mut outer, mut inner) = (new(), new());
    let values = outer.mutate(|m, _| {
        let link = m.alloc(Link { value: 7, next: None });
        inner.mutate(|n, _| {
            let pair = n.alloc((link, n.alloc(8u64)));
            (pair.0.value, *pair.1)
        })
    });
    assert_eq!(values, (7, 8));
}

/// Threads with sessions of their own share a lock: none waits for another's collections.
#[test]
fn a_lock_is_held_over_calls_of_sessions() {
    let lock = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = Session::<Head>::new(STRESS, |_| Head(GcCell::new(None))).unwrap();
                for value in 1..=50 {
                    let mut count = lock.lock().unwrap();
                    session.mutate(|m, head| {
                        head.0.set(m, Some(m.alloc(Link { value, next: head.0.get() })));
                        let values = std::iter::successors(head.0.get(), |link| link.next);
                        *count += values.count() as u64;
                    });
                    session.collect();
                }
            });
        }
    });
    assert_eq!(lock.into_inner().unwrap(), 4 * 50 * 51 / 2);
}

/// Uses a heap once more when its thread ends.
struct AtTheEnd(Heap, mpsc::Sender<u64>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let sum = self.0.with_mutator(|m| {
            let kept = list(m, 100);
            m.collect();
            assert_list(kept, 100);
            std::iter::successors(kept, |node| node.next.get()).map(|node| node.value).sum()
        });
        self.1.send(sum.unwrap()).unwrap();
    }
}

/// The same of a session.
struct LastCall(Session<Head<'static>>, mpsc::Sender<u64>);

impl Drop for LastCall {
    fn drop(&mut self) {
        let LastCall(session, sender) = self;
        session.mutate(|m, head| head.0.set(m, Some(m.alloc(Link { value: 1, next: head.0.get() }))));
        session.collect();
        let values = |head: &Head<'_>| {
            std::iter::successors(head.0.get(), |link| link.next).map(|link| link.value).sum()
        };
        sender.send(session.mutate(|_, head| values(head))).unwrap();
    }
}

thread_local! {
    static LAST: RefCell<Vec<AtTheEnd>> = const { RefCell::new(Vec::new()) };
    static CALLS: RefCell<Vec<LastCall>> = const { RefCell::new(Vec::new()) };
}

/// Destructors of thread-local variables allocate and collect, after the thread has left the heap and others go on.
#[test]
fn destructors_of_thread_local_variables_may_allocate() {
    for config in [SMALL, VERIFY, STRESS] {
        let heap = heap(config);
        let (sender, receiver) = mpsc::channel();
        for _ in 0..4 {
            thread::scope(|scope| {
                for _ in 0..8 {
                    let last = AtTheEnd(heap.clone(), sender.clone());
                    scope.spawn(|| {
                        LAST.with_borrow_mut(|all| all.push(last));
                        let m = heap.attach().unwrap();
                        assert_list(list(&m, 100), 100);
                    });
                }
            });
        }
        drop(sender);
        // A scope does not wait for these destructors.
        assert!((0..32).all(|_| receiver.recv().unwrap() == 99 * 100 / 2));
    }
}

#[test]
fn destructors_of_thread_local_variables_may_call_sessions() {
    for config in [SMALL, VERIFY, STRESS] {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..16 {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut session = Session::<Head>::new(config, |_| Head(GcCell::new(None))).unwrap();
                session.mutate(|m, head| head.0.set(m, Some(m.alloc(Link { value: 6, next: None }))));
                CALLS.with_borrow_mut(|all| all.push(LastCall(session, sender)));
            });
        }
        drop(sender);
        assert!((0..16).all(|_| receiver.recv().unwrap() == 7));
    }
}

/// A session is forgotten, or a call of it panics, and its thread ends. Others go on.
#[test]
fn threads_that_end_leave_their_sessions() {
    let beside = SMALL.concurrent(heapwood::Concurrent::On).max_pause(0);
    for config in [SMALL, VERIFY, STRESS, beside] {
        let new = || Session::<Head>::new(config, |_| Head(GcCell::new(None))).unwrap();
        let fill = |session: &mut Session<Head<'static>>| {
            session.mutate(|m, head| {
                for value in 0..5000 {
                    head.0.set(m, Some(m.alloc(Link { value, next: head.0.get() })));
                }
            });
        };
        let mut own = new();
        fill(&mut own);
        for round in 0..8 {
            let ended = thread::scope(|scope| {
                let ends = scope.spawn(|| {
                    let mut session = new();
                    fill(&mut session);
                    match round % 2 {
                        0 => std::mem::forget(session),
                        _ => session.mutate(|m, head| assert!(head.0.get().is_none(), "{}", m.alloc(round))),
                    }
                });
                ends.join()
            });
            assert_eq!(ended.is_err(), round % 2 == 1);
            fill(&mut own);
            own.collect();
        }
        let links = own.mutate(|_, head| std::iter::successors(head.0.get(), |link| link.next).count());
        assert_eq!(links, 9 * 5000);
    }
}
