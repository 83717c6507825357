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

const ALL: [Config; 6] =
    [FULL, PRECISE.mark_threads(3), YOUNG, FULL.verify(true), YOUNG.verify(true), FULL.mark_stack(16)];

/// Nodes that lead each to the next in the list of edges; returns what each collection finds, until one finds nothing.
fn collections(config: Config, orders: &[FinalizeOrder], edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let heap = heap(config.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let n = orders.len();
    let mut roots = Slots::new(&heap, n);
    for (i, &order) in orders.iter().enumerate() {
        roots.set(i, new(&mutator, node_type(&heap)));
        register(&mutator, roots.get(i), order, i);
    }
    let mut used = vec![0; n];
    for &(from, to) in edges {
        // By way of an object without a finaliser.
        let between = new(&mutator, node_type(&heap));
        put(between, 1, roots.get(to));
        link(&mutator, roots.get(from), used[from], between);
        used[from] += 1;
    }
    (0..n).for_each(|i| roots.set(i, 0));
    let mut all = Vec::new();
    while heap.finalizers().0 > 0 {
        if config.generational == heapwood_gc::settings::options::Generational::Always && all.is_empty() {
            mutator.collect_young().unwrap();
        } else {
            mutator.collect().unwrap();
        }
        let found = tags(&mutator);
        if found.is_empty() {
            break;
        }
        all.push(found);
    }
    assert_swept_and_valid(&heap);
    all
}

fn sorted(mut all: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    all.iter_mut().for_each(|found| found.sort_unstable());
    all
}

#[test]
fn an_object_comes_before_those_that_it_leads_to() {
    use FinalizeOrder::{AtOnce, Ordered};
    for config in ALL {
        let chain = [(0, 1), (1, 2), (2, 3)];
        assert_eq!(collections(config, &[Ordered; 4], &chain), [[0], [1], [2], [3]]);
        assert_eq!(sorted(collections(config, &[AtOnce; 4], &chain)), [[0, 1, 2, 3]]);
        // Those at once wait for none, and none waits for them.
        assert_eq!(
            sorted(collections(config, &[Ordered, AtOnce, Ordered, AtOnce], &chain)),
            [vec![0, 1, 3], vec![2]]
        );
        // Two lead to one.
        let edges = [(3, 0), (2, 0), (0, 1)];
        assert_eq!(sorted(collections(config, &[Ordered; 4], &edges)), [vec![2, 3], vec![0], vec![1]]);
        // A circle behind one, and one behind the circle: these wait for good.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)];
        assert_eq!(collections(config, &[Ordered; 5], &edges), [[0]]);
        let edges = [(4, 3), (3, 2), (2, 1), (1, 3), (1, 0)];
        assert_eq!(collections(config, &[Ordered; 5], &edges), [[4]]);
        // One that leads back to itself by way of another is a circle.
        assert_eq!(collections(config, &[Ordered; 2], &[(0, 0), (0, 1)]), [[0; 0]; 0]);
    }
}

/// Chains of many, in both orders of registration: each object is followed once.
#[test]
fn a_long_chain_waits_for_its_head() {
    for backwards in [false, true] {
        const MANY: usize = 20_000;
        let heap = heap(FULL.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        for i in 0..MANY {
            let object = new(&mutator, node_type(&heap));
            put(object, 0, roots.get(0));
            put(object, 2, i);
            roots.set(0, object);
        }
        let mut all = Vec::new();
        let mut at = roots.get(0);
        while at != 0 {
            all.push(at);
            at = get(at, 0);
        }
        if backwards {
            all.reverse();
        }
        all.iter().for_each(|&object| register(&mutator, object, FinalizeOrder::Ordered, get(object, 2)));
        roots.set(0, 0);
        for k in 1..4 {
            mutator.collect().unwrap();
            assert_eq!(tags(&mutator), [MANY - k]);
        }
        heap.finalize_all().unwrap();
        assert_eq!(tags(&mutator).len(), MANY - 3);
    }
}

/// A circle stays whole, with its data, and is counted as long as it is there; an object's own pointers to itself make none.
#[test]
fn a_circle_waits_for_good_and_is_counted() {
    for config in ALL {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 3);
        (0..3).for_each(|i| node_with_list(&mutator, &mut roots, i, i));
        (0..3).for_each(|i| link(&mutator, roots.get(i), 1, roots.get((i + 1) % 3)));
        (0..3).for_each(|i| register(&mutator, roots.get(i), FinalizeOrder::Ordered, i));
        finalize(&mutator, roots.get(1), 7);
        let circle: Vec<_> = (0..3).map(|i| roots.get(i)).collect();
        // Pointers to itself, also as words that may be pointers, and in parts of a large object.
        let conservative = |words: usize| {
            heap.types().register(&heapwood_layout::TypeDescriptor::conservative(words * 8).unwrap()).unwrap()
        };
        let wide = masked(&heap, 200, &(0..200).collect::<Vec<_>>());
        let types = [(node_type(&heap), 2), (wide, 200), (conservative(8), 8), (conservative(3000), 3000)];
        for (i, (ty, words)) in types.into_iter().enumerate() {
            let alone = new(&mutator, ty);
            roots.set(0, alone);
            [0, 1, words - 1].into_iter().for_each(|word| link(&mutator, alone, word, alone));
            register(&mutator, alone, FinalizeOrder::Ordered, 10 + i);
        }
        (0..3).for_each(|i| roots.set(i, 0));
        let is_young = config.generational == heapwood_gc::settings::options::Generational::Always;
        let mut all = Vec::new();
        for round in 0..3 {
            if is_young && round == 0 { mutator.collect_young() } else { mutator.collect() }.unwrap();
            all.extend(tags(&mutator));
            let circles = heap.inspect().stats().finalizer_circles;
            assert_eq!(circles, usize::from(!is_young || round > 0), "{config:?}");
            (0..2000).for_each(|_| _ = new(&mutator, node_type(&heap)));
        }
        all.sort_unstable();
        assert_eq!((all, taken(&heap), heap.finalizers()), (vec![10, 11, 12, 13], vec![], (4, 0)));
        (0..3).for_each(|i| check_node(circle[i], i));
        heap.finalize_all().unwrap();
        assert_eq!((tags(&mutator).len(), taken(&heap)), (4, vec![]));
        mutator.collect().unwrap();
        assert_eq!(heap.inspect().stats().finalizer_circles, 0);
        assert_swept_and_valid(&heap);
    }
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

/// What the program queues itself during a marking is in no snapshot: the end finds it on the queue, or the taker tells of it.
#[test]
fn what_is_queued_during_a_marking_outlives_it() {
    for takes in [false, true] {
        let heap = heap(PRECISE.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let mut roots = Slots::new(&heap, 1);
        node_with_list(&mutator, &mut roots, 0, 9);
        register(&mutator, roots.get(0), FinalizeOrder::AtOnce, 9);
        mutator.collect().unwrap();
        roots.set(0, 0);
        assert_eq!(mutator.incremental_marking().begin(), Ok(true));
        assert_eq!(heap.finalize_all(), Ok(1));
        if takes {
            roots.set(0, address(take(&mutator, OWN).unwrap()));
        }
        while mutator.incremental_marking().step(50).unwrap() {}
        assert_eq!(mutator.incremental_marking().finish(), Ok(true));
        (0..20_000).for_each(|_| _ = new(&mutator, node_type(&heap)));
        if !takes {
            roots.set(0, address(take(&mutator, OWN).unwrap()));
        }
        check_node(roots.get(0), 9);
        mutator.collect().unwrap();
        check_node(roots.get(0), 9);
    }
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
            // SAFETY: the child uses the heap, and exits without the harness's cleanup; one that hangs is killed.
            let child = unsafe { libc::fork() };
            mutator.collect().unwrap();
            let mut all = 0;
            while let Some(taken) = take(&mutator, OWN) {
                check_node(address(taken), taken.tag);
                all += 1;
            }
            if child == 0 {
                // SAFETY: as above.
                unsafe { libc::_exit(if all == 100 { 7 } else { 1 }) };
            }
            let mut ended = 0;
            // SAFETY: it is this process's child.
            assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
            assert!(all == 100 && libc::WIFEXITED(ended) && libc::WEXITSTATUS(ended) == 7, "{ended:#x}");
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
