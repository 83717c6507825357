//! Finalisers of objects themselves: each is revived whole, and given once, when nothing but queues led to it; in order, or all at
//! once; by collections of all kinds.

use super::*;
use heapwood_gc::{FinalizeOrder, Finalized};
use heapwood_os_testing::faulty::Faulty;

/// Registers an object for the heap's own queue.
fn register(mutator: &Mutator, object: usize, order: FinalizeOrder, tag: usize) {
    let object = NonNull::new(object as *mut u8).unwrap();
    mutator.finalize(object, OWN, order, tag).unwrap();
}

fn take(mutator: &Mutator, queue: FinalizerQueue) -> Option<Finalized> {
    mutator.next_finalized(queue).unwrap()
}

/// The tags that wait, in their order; their objects are dropped.
fn tags(mutator: &Mutator) -> Vec<usize> {
    core::iter::from_fn(|| take(mutator, OWN)).map(|taken| taken.tag).collect()
}

fn address(taken: Finalized) -> usize {
    taken.object.unwrap().as_ptr() as usize
}

/// A node with a number, and a list of ten that it alone leads to.
fn node_with_list(mutator: &Mutator, roots: &mut Slots<'_>, at: usize, number: usize) {
    let node = node_type(mutator.heap());
    roots.set(at, 0);
    roots.extend_list(at, mutator, node, 10, number);
    let object = new(mutator, node);
    put(object, 0, roots.get(at));
    put(object, 2, number);
    roots.set(at, object);
}

fn check_node(object: usize, number: usize) {
    assert_eq!(get(object, 2), number);
    check_list(get(object, 0), 10, number);
}

#[test]
fn entries_come_by_their_queues() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let none = FinalizerQueue::from_bits(1 << 32 | 1);
    assert_eq!(heap.end_finalizer_queue(none), Err(Refusal::NoQueue { queue: none.to_bits() }));
    assert!(matches!(heap.end_finalizer_queue(OWN), Err(Refusal::NoQueue { queue: 0 })));
    let queues: Vec<_> = (0..100).map(|_| heap.new_finalizer_queue().unwrap()).collect();
    assert!(heap.end_finalizer_queue(OWN).is_err());
    for (i, &queue) in queues.iter().enumerate() {
        let object = NonNull::new(new(&mutator, node) as *mut u8).unwrap();
        mutator.finalize(object, queue, FinalizeOrder::AtOnce, i).unwrap();
        mutator.finalize_data(NonNull::new(new(&mutator, node) as *mut u8).unwrap(), queue, 100 + i).unwrap();
    }
    let in_use = Refusal::QueueInUse { registered: 2, queued: 0 };
    assert_eq!(heap.end_finalizer_queue(queues[3]), Err(in_use));
    mutator.collect().unwrap();
    let in_use = Refusal::QueueInUse { registered: 0, queued: 2 };
    assert_eq!(heap.end_finalizer_queue(queues[3]), Err(in_use));
    assert!(in_use.to_string().contains("2 entries"), "{in_use}");
    for (i, &queue) in queues.iter().enumerate() {
        // A thread that takes data is given no object; one that takes all is given objects first.
        let data = (i % 2 == 0).then(|| heap.next_finalized_data(queue).unwrap());
        assert_eq!(data.unwrap_or(Some(100 + i)), Some(100 + i));
        assert_eq!(heap.next_finalized_data(OWN), Ok(None));
        let object = take(&mutator, queue).unwrap();
        assert!(object.object.is_some() && object.tag == i);
        let rest = (i % 2 == 1).then(|| Finalized { object: None, tag: 100 + i });
        assert_eq!((take(&mutator, queue), take(&mutator, queue)), (rest, None));
        heap.end_finalizer_queue(queue).unwrap();
        assert!(heap.next_finalized_data(queue).is_err() && mutator.next_finalized(queue).is_err());
    }
    // Their numbers are used again, and the old ones refused.
    let again: Vec<_> = core::iter::from_fn(|| heap.new_finalizer_queue().ok()).collect();
    assert_eq!((again.len(), again.iter().filter(|queue| queues.contains(queue)).count()), (4095, 0));
    let full = heap.new_finalizer_queue().unwrap_err();
    assert!(matches!(full, Refusal::ManyQueues { most: 4096 }), "{full}");
    let object = NonNull::new(new(&mutator, node) as *mut u8).unwrap();
    assert!(mutator.finalize(object, queues[0], FinalizeOrder::Ordered, 0).is_err());
    let misuse = Refusal::from(Misuse::InNative);
    assert_eq!(mutator.blocking(|| mutator.next_finalized(OWN)).unwrap(), Err(misuse));
}

#[test]
fn a_child_has_the_objects_that_wait() {
    Child::new()
        .run(|| {
            let heap = heap(FULL.concurrent(Concurrent::Off));
            let mutator = attach(&heap);
            let mut roots = Slots::new(&heap, 1);
            for tag in 0..100 {
                node_with_list(&mutator, &mut roots, 0, tag);
                register(&mutator, roots.get(0), FinalizeOrder::Ordered, tag);
                if tag == 50 {
                    roots.set(0, 0);
                    mutator.collect().unwrap();
                }
            }
            roots.set(0, 0);
            let has_all = || {
                mutator.collect().unwrap();
                let found = core::iter::from_fn(|| take(&mutator, OWN));
                let all = found.inspect(|&taken| check_node(address(taken), taken.tag)).count();
                assert_eq!(all, 100);
                7
            };
            assert_eq!(forked(has_all), 7 << 8);
            has_all();
        })
        .well();
}

/// The kernel refuses one request after the other: registering says so, and changes nothing; a collection asks for nothing, and keeps
/// the order.
#[test]
fn a_kernel_that_refuses_costs_no_entry_and_no_order() {
    let mut at_registration = 0;
    for refused in 0..20 {
        let kernel: &'static Faulty = Box::leak(Box::default());
        let heap = Heap::create(kernel, FULL.concurrent(Concurrent::Off).background_release(false)).unwrap();
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 3);
        (0..3).for_each(|i| roots.set(i, new(&mutator, node_type(&heap))));
        (0..2).for_each(|i| link(&mutator, roots.get(i), 0, roots.get(i + 1)));
        mutator.collect().unwrap();
        kernel.refuse(refused);
        for i in 0..3 {
            let object = NonNull::new(roots.get(i) as *mut u8).unwrap();
            let register = || mutator.finalize(object, OWN, FinalizeOrder::Ordered, i);
            if let Err(error) = register() {
                assert!(matches!(error, Refusal::Kernel(_)) && heap.finalizers() == (i, 0), "{error}");
                at_registration += 1;
                register().unwrap();
            }
        }
        (0..3).for_each(|i| roots.set(i, 0));
        for i in 0..3 {
            mutator.collect().unwrap();
            assert_eq!(tags(&mutator), [i], "request {refused} was refused");
        }
        kernel.relent();
        assert_valid(&heap);
    }
    assert!(at_registration >= 3, "{at_registration} refused");
}

/// The heap of which a trace function has all queued, on another thread.
static QUEUES_ALL: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn queue_all_elsewhere(_: *mut u8, _: usize, _: *mut heapwood_layout::TraceContext) {
    let heap = QUEUES_ALL.swap(0, Ordering::Relaxed);
    if heap != 0 {
        // SAFETY: the test's heap lives until this thread has been joined.
        let all = move || unsafe { &*(heap as *const Heap) }.finalize_all().unwrap();
        assert_eq!(std::thread::spawn(all).join().unwrap(), 1);
    }
}

/// A thread that is not attached does not stop: it may queue all in the middle of a marking, which has looked at the queues before.
#[test]
fn what_is_queued_in_a_pause_is_kept() {
    for config in [FULL, YOUNG] {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let traced = heapwood_layout::TypeDescriptor::traced(64, queue_all_elsewhere).unwrap();
        let traced = heap.types().register(&traced).unwrap();
        let mut roots = Slots::new(&heap, 2);
        node_with_list(&mutator, &mut roots, 0, 5);
        let object = roots.get(0);
        register(&mutator, object, FinalizeOrder::AtOnce, 5);
        roots.set(0, 0);
        roots.set(1, new(&mutator, traced));
        QUEUES_ALL.store(&raw const *heap as usize, Ordering::Relaxed);
        mutator.collect_young().unwrap();
        assert_eq!((QUEUES_ALL.load(Ordering::Relaxed), heap.finalizers()), (0, (0, 1)));
        assert!(lives(&heap, object) && lives(&heap, get(object, 0)));
        mutator.collect().unwrap();
        check_node(address(take(&mutator, OWN).unwrap()), 5);
    }
}
