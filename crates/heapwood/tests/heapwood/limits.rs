//! A heap with a limit: an allocation that does not fit is an error with the numbers, the hook is called, and the heap
//! works again when there is room.

use crate::common::*;
use heapwood::{AllocError, Config, Mutator, Root};
use std::sync::Mutex;

const LIMIT: usize = 8 << 20;
const LIMITED: Config = {
    let mut config = SMALL.limit(LIMIT);
    config.address_space = None;
    config
};

/// Fills the heap with rooted objects of `N` words. Returns the roots and the error.
#[inline(never)]
fn fill<const N: usize>(m: &Mutator) -> (Vec<Root<[u64; N]>>, AllocError) {
    let mut held = Vec::new();
    loop {
        match m.try_alloc([held.len() as u64; N]) {
            Ok(object) => held.push(m.root(object)),
            Err(error) => return (held, error),
        }
    }
}

fn refuses_and_recovers<const N: usize>() {
    let heap = heap(LIMITED);
    let m = heap.attach().unwrap();
    for round in 0..3 {
        let (held, error) = fill::<N>(&m);
        let AllocError::Limit { limit, live, .. } = error else { panic!("{error}") };
        let bytes = held.len() * N * 8;
        assert_eq!(limit, LIMIT);
        assert!(live <= LIMIT && bytes <= LIMIT, "{live} alive, {bytes} held");
        assert!(bytes > LIMIT * 3 / 4, "only {bytes} of {LIMIT} bytes could be had in round {round}");
        let text = error.to_string();
        assert!(text.contains(&LIMIT.to_string()) && text.contains(&live.to_string()), "{text}");
        assert!(held.iter().enumerate().all(|(i, root)| *root.get(&m) == [i as u64; N]));
        drop(held);
        scrub();
        m.collect();
        assert!(heap.stats().live_bytes < LIMIT / 8, "{:?}", heap.stats());
        assert_list(list(&m, 10_000), 10_000);
    }
}

#[test]
fn values_of_each_size_fill_the_limit_and_recover() {
    refuses_and_recovers::<4>();
    refuses_and_recovers::<300>();
    refuses_and_recovers::<10_000>();
}

static HEARD: Mutex<Vec<AllocError>> = Mutex::new(Vec::new());

#[test]
fn the_hook_is_called_before_the_panic() {
    let heap = heap(LIMITED);
    heap.on_alloc_error(|error| HEARD.lock().unwrap().push(*error));
    heap.on_alloc_error(|_| panic!("only the first hook counts"));
    let m = heap.attach().unwrap();
    let (held, _) = fill::<4>(&m);
    assert!(HEARD.lock().unwrap().is_empty(), "`try_alloc` returns the error and calls nobody");
    let bytes = vec![0u8; LIMIT / 4];
    let calls: [&dyn Fn(); 4] = [
        &|| _ = list(&m, 1_000_000),
        &|| _ = m.alloc_slice(LIMIT, |_| 0u64),
        &|| _ = m.alloc_copy(&bytes),
        &|| _ = m.alloc([0u64; 20_000]),
    ];
    for (i, call) in calls.into_iter().enumerate() {
        let message = panic_message(call);
        let heard = HEARD.lock().unwrap();
        assert_eq!(heard.len(), i + 1);
        assert!(matches!(heard[i], AllocError::Limit { limit: LIMIT, .. }));
        assert_eq!(message, heard[i].to_string());
    }
    drop(held);
    m.collect();
    assert_list(list(&m, 10_000), 10_000);
}

/// A mapped file, say: the owner is small, what it owns counts.
#[test]
fn bytes_outside_the_heap_count_toward_the_limit() {
    let heap = heap(LIMITED);
    let m = heap.attach().unwrap();
    m.external(LIMIT as isize / 2).unwrap();
    let refused = m.external(LIMIT as isize / 2 + 1).unwrap_err();
    assert!(matches!(refused, AllocError::Limit { external, .. } if external == LIMIT / 2));
    assert!(m.try_alloc_slice::<u8>(LIMIT * 5 / 8, |_| 0).is_err());
    assert!(m.external(-(LIMIT as isize)).unwrap_err().to_string().contains("give back what was added"));
    m.external(-(LIMIT as isize / 2)).unwrap();
    assert!(m.try_alloc_slice::<u8>(LIMIT * 5 / 8, |_| 0).is_ok());
    assert_eq!(heap.stats().external_bytes, 0);
}
