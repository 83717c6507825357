//! What is weak where the kernel gives no memory for it, and a comparison of keys that collects against the rule. Invariant: what is
//! refused has changed nothing, and can be asked for once more; what is returned is alive.

use super::links::{Words, read};
use super::{at, key_of};
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{AllocError, Heap};
use heapwood_gc_testing::*;
use heapwood_os_testing::faulty::Faulty;

fn is_refused<T>(result: &Result<T, AllocError>) -> bool {
    matches!(result, Err(AllocError::Kernel(_)))
}

/// One request after the other is refused.
#[test]
fn a_kernel_that_refuses_costs_nothing_weak() {
    let mut refusals = [0; 3];
    for refused in 0..24 {
        let kernel: &'static Faulty = Box::leak(Box::default());
        let heap = Heap::create(kernel, FULL.concurrent(Concurrent::Off).background_release(false)).unwrap();
        let mutator = attach(&heap);
        let (words, mut roots) = (Words::new(1), Slots::new(&heap, 3));
        let node = node_type(&heap);
        roots.set(0, new(&mutator, node));
        roots.set(1, mutator.weak_table().unwrap().as_ptr() as usize);
        let (key, table) = (at(roots.get(0)), at(roots.get(1)));
        words.set(0, roots.get(0));
        // Each is the first to ask in its turn.
        kernel.refuse(refused / 3);
        let mut done = [true; 3];
        // SAFETY: roots keep key and table, and the word outlives its link.
        unsafe {
            for i in (0..3).map(|i| (i + refused) % 3) {
                let result = match i {
                    0 => mutator.ephemeron(key, 0).map(|_| ()),
                    1 => mutator.weak_table_set(table, key, 0).map(|_| ()),
                    _ => mutator.add_link(words.at(0), key, false).map_err(AllocError::from),
                };
                assert!(result.is_ok() || is_refused(&result), "{result:?}");
                done[i] = result.is_ok();
                refusals[i] += usize::from(!done[i]);
            }
            let [_, set, linked] = done;
            assert_eq!(mutator.weak_table_len(table).unwrap(), usize::from(set));
            assert_eq!(read(&mutator, words.at(0)) != 0, linked);
            kernel.relent();
            roots.set(2, mutator.ephemeron(key, 0).unwrap().as_ptr() as usize);
            assert_eq!(mutator.weak_table_set(table, key, 0), Ok(!set));
            mutator.add_link(words.at(0), key, false).unwrap();
        }
        roots.set(0, 0);
        mutator.collect().unwrap();
        assert_eq!((key_of(&mutator, roots.get(2)), words.get(0)), (0, 0));
        assert_eq!(mutator.weak_table_len(table).unwrap(), 0);
        assert_valid(&heap);
    }
    assert!(refusals.iter().all(|&refusals| refusals >= 1), "{refusals:?}");
}

/// The comparison collects, so what it was given is dead, or not.
#[test]
fn a_comparison_that_collects_finds_nothing_dead() {
    for config in [FULL, YOUNG, FULL.verify(true)] {
        let heap = heap(config.concurrent(Concurrent::Off));
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let mut roots = Slots::new(&heap, 3);
        for (is_kept, adds) in [(false, false), (true, false), (false, true), (true, true)] {
            roots.set(0, mutator.weak_table().unwrap().as_ptr() as usize);
            let table = at(roots.get(0));
            for i in [1, 2] {
                roots.set(i, new(&mutator, node));
                // SAFETY: roots keep both.
                let put = unsafe { mutator.weak_table_intern(table, 7, |_| false, at(roots.get(i))) };
                assert_eq!(put.unwrap().as_ptr() as usize, roots.get(i));
            }
            let first = roots.get(1);
            if !is_kept {
                roots.set(1, 0);
            }
            let mut compared = Vec::new();
            let is_equal = |candidate: core::ptr::NonNull<u8>| {
                compared.push(candidate.as_ptr() as usize);
                mutator.collect().unwrap();
                if adds && compared.len() == 1 {
                    // Which changes the table as well.
                    roots.set(2, new(&mutator, node));
                    // SAFETY: roots keep both.
                    unsafe { mutator.weak_table_intern(table, 7, |_| false, at(roots.get(2))) }.unwrap();
                }
                true
            };
            let found =
                mutator.weak_table_find(table, 7, is_equal).unwrap().map(|found| found.as_ptr() as usize);
            assert_eq!(compared[0], first);
            match is_kept {
                true => assert_eq!(found, Some(first)),
                false => assert_eq!(found, Some(roots.get(2)), "the next that is alive"),
            }
        }
        assert_swept_and_valid(&heap);
    }
}
