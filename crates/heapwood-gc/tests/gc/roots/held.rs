//! Held objects of threads and of children; what is held by one thread is in the oracle's programs.

use core::ptr::NonNull;
use heapwood_gc::{Mutator, ObjectType, Refusal};
use heapwood_gc_testing::*;
use std::sync::Mutex;

/// A held object, and the number in the object that it leads to.
#[derive(Clone, Copy)]
struct Held {
    /// Its complement, so that no stack keeps it.
    hidden: usize,
    number: usize,
}

impl Held {
    fn at(self) -> NonNull<u8> {
        NonNull::new(!self.hidden as *mut u8).unwrap()
    }

    fn check(self, mutator: &Mutator) {
        let object = self.at().as_ptr() as usize;
        let info = mutator.find_info(object).expect("a held object is gone");
        assert!(info.base.get() == object && info.held);
        let leaf = get(object, 0);
        assert_eq!(mutator.find(leaf).map(|found| found.base.get()), Some(leaf), "what it leads to is gone");
        assert_eq!(get(leaf, 0), self.number);
    }
}

fn new_held(mutator: &Mutator, ty: ObjectType) -> NonNull<u8> {
    let object = mutator.allocate(ty).unwrap();
    assert_eq!(mutator.hold(object), Ok(true));
    object
}

#[test]
fn only_objects_are_held() {
    let heap = heap(FULL);
    let mutator = attach(&heap);
    let object = mutator.allocate(ObjectType::conservative(64)).unwrap();
    let refused = |at: usize| {
        let object = NonNull::new(at as *mut u8).unwrap();
        let refused = Err(Refusal::CannotHold { address: at });
        assert_eq!((mutator.hold(object), mutator.release_held(object)), (refused, refused));
    };
    let at = object.as_ptr() as usize;
    [at + 8, at + 64, 8, usize::MAX].into_iter().for_each(refused);
    assert!(
        mutator.hold(NonNull::<u64>::dangling().cast()).unwrap_err().to_string().contains("hold an object")
    );
    assert_eq!(mutator.hold(object), Ok(true));
    // A free that is refused changes nothing.
    let inside = NonNull::new((at + 16) as *mut u8).unwrap();
    // SAFETY: nothing refers to it.
    assert!(unsafe { mutator.free(inside) }.is_err());
    assert!(mutator.find_info(at).unwrap().held);
}

/// Threads hold, release and free objects of each other while collections come.
#[test]
fn threads_hold_objects_of_each_other() {
    for config in [FULL, YOUNG, PRECISE, BY_SIGNALS] {
        let heap = heap(config.min_heap(1 << 20));
        let pool = Mutex::new(Vec::<Held>::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (heap, pool) = (&heap, &pool);
                scope.spawn(move || {
                    let mutator = attach(heap);
                    let (pair, leaf) = (masked(heap, 2, &[0]), pointer_free(heap, 16));
                    let mut rng = Rng::new(thread + 1);
                    for step in 0..10_000 {
                        let object = new_held(&mutator, pair).as_ptr() as usize;
                        let to = new(&mutator, leaf);
                        put(to, 0, step);
                        link(&mutator, object, 0, to);
                        let taken = {
                            let mut pool = pool.lock().unwrap();
                            pool.push(Held { hidden: !object, number: step });
                            let at = rng.below(pool.len());
                            (pool.len() > 100).then(|| pool.swap_remove(at))
                        };
                        if let Some(held) = taken {
                            held.check(&mutator);
                            match rng.below(2) {
                                0 => assert_eq!(mutator.release_held(held.at()), Ok(true)),
                                // SAFETY: nothing refers to it, and no other thread uses it.
                                _ => unsafe { mutator.free(held.at()) }.unwrap(),
                            }
                        }
                        if step % 1000 == 999 {
                            mutator.collect().unwrap();
                        }
                    }
                });
            }
        });
        let (mutator, pool) = (attach(&heap), pool.into_inner().unwrap());
        mutator.collect().unwrap();
        pool.iter().for_each(|held| held.check(&mutator));
        if !config.conservative_stacks {
            assert_eq!(heap.inspect().stats().live_objects, 2 * pool.len());
        }
        drop(mutator);
        assert_swept_and_valid(&heap);
    }
}

/// A forked child has what its parent held.
#[test]
fn a_child_has_what_was_held() {
    in_child(|| {
        let heap = heap(FULL);
        let mutator = attach(&heap);
        let object = new_held(&mutator, masked(&heap, 2, &[0]));
        let to = new(&mutator, pointer_free(&heap, 16));
        put(to, 0, 7);
        link(&mutator, object.as_ptr() as usize, 0, to);
        let held = Held { hidden: !(object.as_ptr() as usize), number: 7 };
        let ended = forked(|| {
            mutator.collect().unwrap();
            held.check(&mutator);
            mutator.release_held(held.at()).unwrap();
            mutator.collect().unwrap();
            assert_eq!(heap.inspect().stats().live_objects, 0);
            7
        });
        assert_eq!(ended, 7 << 8);
        mutator.collect().unwrap();
        held.check(&mutator);
    });
}
