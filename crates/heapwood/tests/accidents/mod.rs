//! Accidents that do not depend on the allocator of the program: threads that wait for each other, attachments that are forgotten, regions,
//! stacks, pointers of another heap. The test programs `plain`, `watched` and `scanned` have this module, each with its allocator. Invariant:
//! each is refused, named or right there, as docs/design/accidents.md says.

#[cfg(target_arch = "x86_64")]
mod stack;

use heapwood::session::{GcCell as Cell, Session, SessionHeap};
use heapwood::{Config, Gc, GcCell, Heap, HeapError, Mutator, Rootable, Stop};
use heapwood_gc_testing::{Child, in_child, panic_message};
use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::sync::{Barrier, Mutex};
use std::thread;

const CONFIG: Config =
    Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(1 << 20).verify(true);

fn heap(config: Config) -> Heap {
    // SAFETY: these programs keep their pointers on the stacks of attached threads; those that break another rule are to be told so.
    unsafe { Heap::new(config) }.unwrap()
}

/// A body that hangs: its process says for whom it waits, and is ended then.
#[track_caller]
fn told(name: &str, body: impl FnOnce()) {
    let mut child = Child::new().called(name).start(body);
    let mut said = String::new();
    let found = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok).any(|line| {
        said += &format!("{line}\n");
        line.contains("a collection waits for thread ") && line.contains("belong into a blocking region")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found, "{name} ended without a word of the wait:\n{said}");
}

/// Two attached threads, of which the first holds a lock over its allocations and the second waits for the lock.
fn lock_held_over_allocations(stop: Stop, rounds: u64, wait: fn(&Mutator, &Mutex<u64>)) {
    let (heap, lock, held) = (heap(CONFIG.stop(stop)), Mutex::new(0), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let m = heap.attach().unwrap();
            let mut count = lock.lock().unwrap();
            held.wait();
            for _ in 0..rounds {
                *count += *m.alloc(1);
                m.collect();
            }
        });
        scope.spawn(|| {
            let m = heap.attach().unwrap();
            m.blocking(|| held.wait());
            wait(&m, &lock);
        });
    });
    assert_eq!(*lock.lock().unwrap(), rounds + 1);
}

#[test]
fn a_lock_held_over_an_allocation_is_told_and_right_in_a_region() {
    fn lock_at_once(_: &Mutator, lock: &Mutex<u64>) {
        *lock.lock().unwrap() += 1;
    }
    // As long as it takes until the other waits.
    told("lock", || lock_held_over_allocations(Stop::Polls, u64::MAX, lock_at_once));
    for stop in [Stop::Polls, Stop::Signals] {
        lock_held_over_allocations(stop, 20, |m, lock| *m.blocking(|| lock.lock()).unwrap() += 1);
    }
    // A signal finds the thread that waits.
    lock_held_over_allocations(Stop::Signals, 20, lock_at_once);
}

/// A thread waits for another to end, which collects.
fn join_while_attached(stop: Stop, join: fn(&Mutator, thread::ScopedJoinHandle<'_, ()>)) {
    let heap = heap(CONFIG.stop(stop));
    let m = heap.attach().unwrap();
    let kept = m.alloc(7u64);
    thread::scope(|scope| {
        let other = scope.spawn(|| heap.attach().unwrap().collect());
        join(&m, other);
    });
    assert_eq!(*kept, 7);
}

#[test]
fn a_join_while_attached_is_told_and_right_in_a_region() {
    told("join", || join_while_attached(Stop::Polls, |_, other| other.join().unwrap()));
    for stop in [Stop::Polls, Stop::Signals] {
        join_while_attached(stop, |m, other| m.blocking(|| other.join()).unwrap());
    }
    join_while_attached(Stop::Signals, |_, other| other.join().unwrap());
}

#[test]
fn waits_inside_a_call_of_a_session_are_told() {
    let sessions = || {
        let heap = SessionHeap::new(CONFIG).unwrap();
        let session = heap.session::<Rootable![u64]>(|_| 7).unwrap();
        (heap, session)
    };
    told("join", || {
        let (heap, mut session) = sessions();
        session.mutate(|_, _| {
            let collect = || heap.session::<Rootable![u64]>(|_| 8).unwrap().collect();
            thread::scope(|scope| scope.spawn(collect).join().unwrap());
        });
    });
    told("lock", || {
        let (heap, mut session) = sessions();
        let (lock, held) = (Mutex::new(()), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut session = heap.session::<Rootable![u64]>(|_| 8).unwrap();
                let _held = lock.lock().unwrap();
                held.wait();
                session.collect();
            });
            session.mutate(|_, _| {
                held.wait();
                drop(lock.lock());
            });
        });
    });
}

#[test]
fn a_thread_that_forgets_its_attachment_holds_up_nobody() {
    for stop in [Stop::Polls, Stop::Signals] {
        let heap = heap(CONFIG.stop(stop));
        thread::scope(|scope| {
            let forgetful = scope.spawn(|| {
                let m = heap.attach().unwrap();
                m.alloc(1u64);
                std::mem::forget(m);
            });
            forgetful.join().unwrap();
        });
        let m = heap.attach().unwrap();
        m.collect();
        assert_eq!(heap.stats().threads, 1);
    }
}

/// The mutator itself does not go into the region (tests/ui/fail/blocking.rs).
#[test]
fn a_callback_inside_a_blocking_region_uses_the_heap() {
    let heap = heap(CONFIG);
    let m = heap.attach().unwrap();
    let sum = m.blocking(|| {
        let sum = heap.with_mutator(|m| {
            let kept = m.alloc(7u64);
            let mut sum = 0;
            for i in 0..10_000 {
                sum += *m.alloc(i);
            }
            m.collect();
            sum + *kept
        });
        assert_eq!(heap.attach().map(drop), Err(HeapError::AttachedAlready));
        sum.unwrap()
    });
    assert_eq!(sum, 49_995_007);
    m.collect();
    assert_eq!(*m.alloc(7u64), 7);
}

#[test]
fn a_pointer_of_another_heap_is_named() {
    #[track_caller]
    fn named(name: &str, mix: fn(&Mutator, &Mutator)) {
        Child::new()
            .called(name)
            .run(|| {
                let (one, other) = (heap(CONFIG), heap(CONFIG));
                let (m, of_other) = (one.attach().unwrap(), other.attach().unwrap());
                mix(&m, &of_other);
            })
            .corrupt("where this heap has no object: is it a pointer of another heap?");
    }
    named("store", |m, of_other| {
        m.alloc(GcCell::new(None)).set(m, Some(of_other.alloc(2u64)));
    });
    named("object", |m, of_other| {
        let holder = m.alloc(Some(of_other.alloc(2u64)));
        m.collect();
        std::hint::black_box(holder);
    });
    named("root", |m, of_other| {
        let root = m.root(of_other.alloc(2u64));
        m.collect();
        drop(root);
    });
}

/// In a child, as above.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_stack_that_nobody_registered_is_refused() {
    in_child(|| {
        let heap = heap(CONFIG);
        let m = heap.attach().unwrap();
        let mut words = String::new();
        stack::on_stack(&mut vec![0u128; 1 << 16], &mut || {
            words = panic_message(|| m.collect());
        });
        assert!(words.contains("the thread runs on another stack"), "{words}");
        m.collect();
    });
}

/// No stack of a session is looked at.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_session_runs_on_any_stack() {
    type Top<'gc> = Cell<Option<heapwood::session::Gc<'gc, u64>>>;
    let mut session = Session::<Rootable![Top<'_>]>::new(CONFIG, |_| Cell::default()).unwrap();
    let mut turns = 0;
    stack::on_stack(&mut vec![0u128; 1 << 17], &mut || {
        for i in 0..5 {
            session.mutate(|m, top| {
                let many: Vec<_> = (0..1000).map(|n| m.alloc(n + i)).collect();
                assert!(many.iter().enumerate().all(|(n, object)| **object == n as u64 + i));
                top.set(m, Some(many[i as usize]));
            });
            session.collect();
            session.mutate(|_, top| assert_eq!(top.get().map(|object| *object), Some(2 * i)));
            turns += 1;
        }
    });
    assert_eq!(turns, 5);
}

/// Two threads at once: what one sends by a channel to another that is attached, and each in its blocking region while it waits.
#[test]
fn roots_cross_channels() {
    let heap = heap(CONFIG);
    let (sender, mut receiver) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let m = heap.attach().unwrap();
            let mut sum = 0;
            loop {
                let receiver = &mut receiver;
                let Ok(root) = m.blocking(move || receiver.recv()) else { break sum };
                m.collect();
                let object: Gc<u64> = heapwood::Root::get(&root, &m);
                sum += *object;
            }
        });
        let m = heap.attach().unwrap();
        for i in 0..50u64 {
            sender.send(m.root(m.alloc(i))).unwrap();
        }
        drop(sender);
        assert_eq!(m.blocking(|| reader.join()).unwrap(), 49 * 25);
    });
}

/// Destructors of thread-local values allocate and free, after the thread's buffers were given back, too.
#[test]
fn threads_come_and_go_with_destructors_that_allocate() {
    #[allow(clippy::vec_box, reason = "many blocks")]
    struct AtEnd(Vec<Box<u64>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let more: Vec<_> = (0..50u64).map(|i| Box::new(i + self.0.len() as u64)).collect();
            assert!(self.0.iter().enumerate().all(|(i, value)| **value == i as u64));
            assert!(more.iter().enumerate().all(|(i, value)| **value == (i + self.0.len()) as u64));
        }
    }
    thread_local! {
        static AT_END: RefCell<AtEnd> = const { RefCell::new(AtEnd(Vec::new())) };
    }
    for _ in 0..400 {
        let threads: Vec<_> = (0..4u64)
            .map(|t| {
                thread::spawn(move || {
                    AT_END.with_borrow_mut(|at_end| at_end.0.extend((0..t * 20).map(Box::new)));
                    vec![t; 100]
                })
            })
            .collect();
        for (t, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().unwrap(), vec![t as u64; 100]);
        }
    }
}
