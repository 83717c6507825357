//! References into objects, in memory that the collector does not see. A guard keeps the objects alive. Without it the
//! optimiser drops the `Gc` that the references were borrowed from, so this test matters most in a release build.

use crate::common::*;
use heapwood::{Gc, Kept, Mutator, Slice, Trace, keep_alive};

#[derive(Trace)]
struct Pair([u64; 2]);

const PAIRS: u64 = 1000;

#[inline(never)]
fn make(m: &Mutator) -> Gc<Slice<Gc<Pair>>> {
    m.alloc_slice(PAIRS as usize, |i| m.alloc(Pair([i as u64, 7])))
}

#[inline(never)]
fn sorted(pairs: &[Gc<Pair>]) -> Vec<&Pair> {
    let mut all: Vec<&Pair> = pairs.iter().map(|pair| &**pair).collect();
    all.sort_by_key(|pair| !pair.0[0]);
    all
}

/// Uses a pair: it allocates, and overwrites stale words on the stack.
#[inline(never)]
fn emit(m: &Mutator, pair: &Pair) -> u64 {
    let mut text = [0u8; 512];
    std::hint::black_box(&mut text);
    for i in 0..300 {
        m.alloc(Pair([i, 0]));
    }
    pair.0[1]
}

#[inline(never)]
fn guarded(m: &Mutator) -> u64 {
    let pairs = m.keep(make(m));
    scrub();
    sorted(&pairs).iter().map(|pair| emit(m, pair)).filter(|&seven| seven != 7).count() as u64
}

#[inline(never)]
fn reversed<'a>(pairs: &'a [Gc<Pair>]) -> Box<dyn Iterator<Item = &'a Pair> + 'a> {
    Box::new(pairs.iter().rev().map(|pair| &**pair))
}

#[inline(never)]
fn boxed(m: &Mutator) -> u64 {
    let pairs = make(m);
    let all = reversed(&pairs);
    scrub();
    let wrong = all.map(|pair| emit(m, pair)).filter(|&seven| seven != 7).count() as u64;
    keep_alive(pairs);
    wrong
}

#[inline(never)]
fn copy(pairs: &[Gc<Pair>]) -> Vec<Gc<Pair>> {
    pairs.to_vec()
}

#[inline(never)]
fn sorted_by_a_closure_that_allocates(m: &Mutator) -> u64 {
    let kept = m.keep(make(m));
    let mut pairs = copy(&kept);
    pairs.sort_by(|a, b| {
        scrub();
        assert_eq!((emit(m, a), emit(m, b)), (7, 7));
        b.0[0].cmp(&a.0[0])
    });
    pairs.iter().zip((0..PAIRS).rev()).filter(|(pair, i)| pair.0[0] != *i).count() as u64
}

#[test]
fn guards_keep_the_targets_of_references() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    assert_eq!(guarded(&m), 0);
    assert_eq!(boxed(&m), 0);
    assert_eq!(sorted_by_a_closure_that_allocates(&m), 0);
    assert!(heap.stats().collections > 3);
}

#[test]
fn a_guard_is_dropped_with_its_object() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let kept = m.keep(m.alloc(Pair([1, 2])));
    assert_eq!((kept.0[1], Gc::ptr_eq(Kept::gc(&kept), *kept)), (2, true));
    assert!(format!("{kept:?}").starts_with("Kept(0x"));
    drop(kept);
    m.collect();
}
