//! Weak tables: an intern table that does not leak, and threads that share one.

use super::at;
use core::ptr::NonNull;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, Misuse, Mutator, Refusal};
use heapwood_gc_testing::*;

fn set(mutator: &Mutator, table: usize, key: usize, value: usize) -> bool {
    // SAFETY: roots of the test keep all three.
    unsafe { mutator.weak_table_set(at(table), at(key), value) }.unwrap()
}

fn found(mutator: &Mutator, table: usize, key: usize) -> Option<usize> {
    let value = mutator.weak_table_get(at(table), at(key)).unwrap();
    value.map(|value| value.map_or(0, |value| value.as_ptr() as usize))
}

fn table(mutator: &Mutator) -> usize {
    mutator.weak_table().unwrap().as_ptr() as usize
}

/// Strings by value: word 2 is the text. Each has one object, and those that nobody uses are gone.
fn intern(mutator: &Mutator, node: heapwood_gc::ObjectType, roots: &mut Slots<'_>, text: usize) -> usize {
    let table = at(roots.get(0));
    // Few hashes, so that texts are compared.
    let is_equal = |candidate: NonNull<u8>| get(candidate.as_ptr() as usize, 2) == text;
    if let Some(found) = mutator.weak_table_find(table, text % 64, is_equal).unwrap() {
        return found.as_ptr() as usize;
    }
    roots.set(1, new(mutator, node));
    put(roots.get(1), 2, text);
    // SAFETY: roots keep both.
    let interned = unsafe { mutator.weak_table_intern(table, text % 64, is_equal, at(roots.get(1))) };
    roots.set(1, 0);
    interned.unwrap().as_ptr() as usize
}

#[test]
fn an_intern_table_does_not_leak() {
    for config in [
        PRECISE.limit(4 << 20),
        YOUNG.limit(4 << 20),
        PRECISE.concurrent(Concurrent::On).max_pause(0).limit(4 << 20),
    ] {
        let heap = heap(config);
        let mutator = attach(&heap);
        let node = node_type(&heap);
        const KEPT: usize = 100;
        let (mut kept, mut roots) = (Slots::new(&heap, KEPT), Slots::new(&heap, 2));
        roots.set(0, table(&mutator));
        let n = if cfg!(debug_assertions) { 40_000 } else { 2_000_000 };
        for i in 0..n {
            // The limit is a fraction of what passes through the table.
            let text = 1 + i % (n / 2);
            let interned = intern(&mutator, node, &mut roots, text);
            assert_eq!(get(interned, 2), text);
            if i % 10 == 0 {
                kept.set(i / 10 % KEPT, interned);
            }
            let again = kept.get(i % KEPT);
            if again != 0 {
                assert_eq!(
                    intern(&mutator, node, &mut roots, get(again, 2)),
                    again,
                    "equal, and not the same"
                );
            }
        }
        mutator.collect().unwrap();
        let len = mutator.weak_table_len(at(roots.get(0))).unwrap();
        assert_eq!(len, KEPT);
        assert_swept_and_valid(&heap);
    }
}

/// Threads put keys into one table, each its own, and remove them.
fn share_a_table(config: Config) {
    let heap = heap(config);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, table(&mutator));
    let (shared, heap_of_all) = (roots.get(0), &*heap);
    let work = move |thread: u64| {
        let mutator = attach(heap_of_all);
        let node = node_type(heap_of_all);
        let (mut keys, mut rng) = (Slots::new(heap_of_all, 100), Rng::new(thread));
        let mut values = [0; 100];
        for _ in 0..if cfg!(heapwood_tsan) { 2000 } else { 20_000 } {
            let slot = rng.below(100);
            match (rng.below(4), keys.get(slot)) {
                (0, _) => (values[slot], _) = (0, keys.set(slot, new(&mutator, node))),
                (1, key) if key != 0 => {
                    let value = keys.get(rng.below(100));
                    assert_eq!(set(&mutator, shared, key, value), values[slot] == 0);
                    values[slot] = value | 1;
                }
                (2, key) if key != 0 => {
                    let had = mutator.weak_table_remove(at(shared), at(key)).unwrap();
                    assert_eq!(had, core::mem::take(&mut values[slot]) != 0);
                }
                (3, key) if key != 0 => {
                    let expected = (values[slot] != 0).then_some(values[slot] & !1);
                    assert_eq!(found(&mutator, shared, key), expected);
                }
                _ => {}
            }
            if rng.one_in(2000) {
                mutator.collect().unwrap();
            }
        }
        values.iter().filter(|&&value| value != 0).count()
    };
    let blocked = mutator.blocking(|| {
        std::thread::scope(|scope| {
            [1, 2, 3].map(|thread| scope.spawn(move || work(thread))).map(|thread| thread.join().unwrap())
        })
    });
    assert!(blocked.unwrap().iter().sum::<usize>() > if cfg!(heapwood_tsan) { 20 } else { 100 });
    mutator.collect().unwrap();
    let len = mutator.weak_table_len(at(shared)).unwrap();
    assert_eq!(len, 0, "the keys died with their threads");
    assert_swept_and_valid(&heap);
}

#[test]
fn threads_share_a_table() {
    share_a_table(PRECISE.concurrent(Concurrent::On).max_pause(0).min_heap(4 << 20));
    share_a_table(YOUNG);
}

/// The same where stacks are scanned. The only one at the end is this thread's, which has never had a key. But it must not have played
/// with another heap before: a word of that may be the address of a key, which leads to another as its value, and that to a third,
/// so there would be no bound.
#[test]
fn threads_that_signals_stop_share_a_table() {
    in_child(|| share_a_table(BY_SIGNALS));
}

#[test]
fn what_is_no_table_is_refused() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 2);
    // Of a table's layout.
    roots.set(0, new(&mutator, masked(&heap, 4, &[3])));
    roots.set(1, table(&mutator));
    for address in [roots.get(0), roots.get(1) + 8, 8, roots.get(1) + 32 * 1000] {
        assert_eq!(mutator.weak_table_len(at(address)), Err(Refusal::NoTable { address }));
    }
    let table = at(roots.get(1));
    // SAFETY: it is refused.
    let refused = unsafe { mutator.weak_table_set(table, at(roots.get(0) + 8), 0) };
    assert_eq!(refused, Err(Refusal::CannotReferWeakly { address: roots.get(0) + 8 }.into()));
    let misuse = Refusal::from(Misuse::InNative);
    assert_eq!(mutator.blocking(|| mutator.weak_table_len(table)).unwrap(), Err(misuse));
    assert_eq!(mutator.weak_table_len(table), Ok(0));
}
