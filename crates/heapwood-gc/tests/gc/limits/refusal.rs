//! Every request to the kernel made to fail in turn, while a heap is made, a thread attached, objects allocated and
//! collected: each time an error or a detour, never an abort, and a heap that is valid and goes on.

use heapwood_gc::{AllocError, Attached, Config, Heap, HeapBox, HeapError, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_os::{KernelRef, OsError};
use heapwood_os_testing::faulty::Faulty;

/// What refused, if anything did.
#[derive(Debug)]
enum Refused {
    Create,
    Attach,
    Root,
    Allocate,
    Handle,
}

fn kernel_error(e: HeapError) -> OsError {
    match e {
        HeapError::Kernel(e) => e,
        other => panic!("not the kernel's refusal: {other}"),
    }
}

/// Allocates small and large objects and handles, keeping all, until something is refused or `bytes` are reached.
fn work(heap: &HeapBox, mutator: &Mutator, bytes: usize) -> Result<usize, Refused> {
    let types = [node_type(heap), masked(heap, 100, &[0, 80]), masked(heap, 5000, &[0, 9])];
    let mut roots = match Slots::try_new(heap, 1) {
        Ok(roots) => roots,
        Err(Refusal::Kernel(_)) => return Err(Refused::Root),
        Err(full) => panic!("not the kernel's refusal: {full}"),
    };
    let (mut used, mut n, mut refused) = (0, 0, None);
    while used < bytes {
        let ty = types[[0, 0, 0, 0, 1, 0, 0, 2][n % 8]];
        match mutator.allocate(ty) {
            Ok(object) => {
                let object = object.as_ptr() as usize;
                put(object, 0, roots.get(0));
                put(object, 2, n);
                if ty.shape() == types[0].shape() {
                    // A second edge, for which a stack of one has no room.
                    put(object, 1, roots.get(0));
                }
                roots.set(0, object);
            }
            Err(AllocError::Kernel(_)) => {
                refused = Some(Refused::Allocate);
                break;
            }
            Err(other) => panic!("not the kernel's refusal: {other}"),
        }
        if n % 2000 == 0 {
            match handle(heap, roots.get(0)) {
                Ok(handle) => assert!(heap.roots().free_handle(handle)),
                Err(_) => refused = Some(Refused::Handle),
            }
        }
        used += ty.size();
        n += 1;
    }
    // Whatever was made before the refusal is there, and the heap is consistent.
    check_list(roots.get(0), n, 0);
    mutator.collect().unwrap();
    check_list(roots.get(0), n, 0);
    assert_eq!(heap.inspect().stats().live_objects, n);
    assert!(n < 100 || heap.config().mark_stack != Some(1) || heap.inspect().stats().mark_overflows > 0);
    assert_swept_and_valid(heap);
    match refused {
        Some(what) => Err(what),
        None => Ok(n),
    }
}

fn attempt(kernel: KernelRef, config: Config, bytes: usize) -> Result<(), Refused> {
    let heap = match Heap::create(kernel, config) {
        Ok(heap) => heap,
        Err(e) => {
            kernel_error(e);
            return Err(Refused::Create);
        }
    };
    let mutator = match Mutator::attach(&heap, None) {
        Ok(mutator) => mutator,
        Err(e) => {
            kernel_error(e);
            assert_eq!(heap.mutators(), 0);
            // The next attempt is served, and everything works.
            let mutator = Mutator::attach(&heap, None).unwrap();
            end(&heap, mutator, bytes / 4);
            return Err(Refused::Attach);
        }
    };
    let outcome = work(&heap, &mutator, bytes);
    // After the refusal the same heap serves the same work.
    end(&heap, mutator, bytes);
    outcome.map(|_| ())
}

fn end(heap: &HeapBox, mutator: Attached<'_>, bytes: usize) {
    let n = work(heap, &mutator, bytes).unwrap();
    assert!(n > 100);
}

fn every_request_refused(config: Config, bytes: usize) {
    let kernel: &'static Faulty = Box::leak(Box::default());
    let before = kernel.requests();
    attempt(kernel, config, bytes).unwrap();
    let requests = kernel.requests() - before;
    assert!(requests > 20, "{requests}");
    let mut seen = [0; 5];
    for n in 0..requests {
        kernel.refuse(n);
        // Where it is none there was a detour: a smaller window, a smaller step of growth, or a second attempt after a collection.
        if let Err(what) = attempt(kernel, config, bytes) {
            seen[what as usize] += 1;
        }
        kernel.relent();
    }
    println!("{requests} requests; refused create, attach, root, allocate, handle: {seen:?}");
    // One refusal never keeps a heap from being made: it tries a smaller window.
    assert!(seen[0] == 0 && seen[1] > 0 && seen[2] > 0 && seen[4] > 0, "{seen:?}");
    all_requests_refused(config);
}

/// From some request on the kernel refuses everything.
fn all_requests_refused(config: Config) {
    let kernel: &'static Faulty = Box::leak(Box::default());
    let config = config.background_release(false);
    let before = kernel.requests();
    drop(Heap::create(kernel, config).unwrap());
    let requests = kernel.requests() - before;
    for n in 0..requests {
        kernel.refuse_from(n);
        assert!(matches!(Heap::create(kernel, config), Err(HeapError::Kernel(_))), "{n} of {requests}");
        kernel.relent();
    }
    kernel.refuse_from(requests);
    assert!(Heap::create(kernel, config).is_ok());
    kernel.relent();
}

/// Of a heap without limit, of one with a tiny mark stack, and of one with a limit.
#[test]
fn every_refusal_is_survived() {
    every_request_refused(PRECISE, 12 << 20);
    every_request_refused(PRECISE.mark_stack(4), 6 << 20);
    every_request_refused(PRECISE.limit(24 << 20), 6 << 20);
}

/// The last thing a heap asks for is its thread, without which it goes on.
#[test]
fn a_heap_goes_on_without_its_thread() {
    let kernel: &'static Faulty = Box::leak(Box::default());
    let config = PRECISE.background_release(true);
    drop(Heap::create(kernel, config).unwrap());
    let without = PRECISE.background_release(false);
    let before = kernel.requests();
    drop(Heap::create(kernel, without).unwrap());
    let heap_alone = kernel.requests() - before;
    kernel.refuse(heap_alone);
    let heap = Heap::create(kernel, config).unwrap();
    assert_eq!(kernel.requests() - before, 2 * heap_alone + 1, "the thread was asked for, and refused");
    let mutator = Mutator::attach(&heap, None).unwrap();
    work(&heap, &mutator, 4 << 20).unwrap();
    mutator.collect().unwrap();
    drop(mutator);
    assert!(heap.memory().release_free() > 0);
    // The next heap has its thread.
    attempt(kernel, config, 1 << 20).unwrap();
}

/// The kernel refuses everything while a heap is at work: collections and allocation from what there is go on.
fn exhausted_after_creation(config: Config) {
    let mut refusals = 0;
    for left in (0..12).chain((12..80).step_by(7)) {
        let kernel: &'static Faulty = Box::leak(Box::new(Faulty::new()));
        let heap = Heap::create(kernel, config).unwrap();
        let mutator = Mutator::attach(&heap, None).unwrap();
        kernel.refuse_from(left);
        let outcome = work(&heap, &mutator, 12 << 20);
        refusals += matches!(outcome, Err(Refused::Allocate)) as usize;
        if left < 5 {
            assert!(outcome.is_err());
        }
        kernel.relent();
        end(&heap, mutator, 12 << 20);
    }
    assert!(refusals > 3, "{refusals}");
}

#[test]
fn a_heap_goes_on_when_an_exhausted_kernel_has_memory_again() {
    [PRECISE, PRECISE.mark_stack(1)].into_iter().for_each(exhausted_after_creation);
}

#[test]
fn an_exhausted_kernel_refuses_creation_and_attaching() {
    for left in 0..60 {
        let kernel: &'static Faulty = Box::leak(Box::new(Faulty::new()));
        kernel.refuse_from(left);
        if let Ok(heap) = Heap::create(kernel, PRECISE) {
            kernel.refuse_from(left % 2);
            let e = Mutator::attach(&heap, None).err();
            assert!(matches!(e, Some(HeapError::Kernel(_))), "{e:?}");
            assert_eq!(heap.mutators(), 0);
        }
    }
}
