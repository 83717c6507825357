//! A heap with a limit: an allocation that does not fit is an error with the numbers, the hook is called, and the heap
//! works again when there is room.

use crate::common::*;
use heapwood::{AllocError, Config, Finalized, Heap, Mutator, Root};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

#[test]
fn one_value_above_the_limit_is_an_error_at_once() {
    let heap = heap(LIMITED);
    let m = heap.attach().unwrap();
    let kept = m.alloc(1u64);
    let error = m.try_alloc_slice(LIMIT + 1, |_| 0u8).map(|s| s.len()).unwrap_err();
    assert!(matches!(error, AllocError::Limit { limit: LIMIT, .. }), "{error:?}");
    assert_eq!(*kept, 1);
    assert_list(list(&m, 1000), 1000);
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

/// A buffer of the ordinary allocator; it counts itself.
struct Buffer(Box<[u8]>);

static BUFFERS: AtomicUsize = AtomicUsize::new(0);
const BUFFER: usize = 256 << 10;

impl Buffer {
    fn new(fill: u8) -> Self {
        BUFFERS.fetch_add(1, Ordering::Relaxed);
        Buffer(vec![fill; BUFFER].into())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        BUFFERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether there is room for one more buffer: what is dead has been dropped, if `drops`.
fn has_room(heap: &Heap, m: &Mutator, drops: bool) -> bool {
    while m.external(BUFFER as isize).is_err() {
        let dropped = if drops { heap.drop_finalized() } else { 0 };
        if dropped == 0 {
            return false;
        }
        m.external(-((dropped * BUFFER) as isize)).unwrap();
    }
    true
}

/// An object that owns a buffer, of which only a root may be left.
#[inline(never)]
fn own(m: &Mutator, fill: u8) -> Root<Finalized<Buffer>> {
    m.root(m.alloc_finalized(Buffer::new(fill)).map_err(|(error, _)| error).unwrap())
}

/// Many times the limit passes through objects of a few bytes, whose buffers are dropped when they are dead. Where nobody drops
/// them the limit is reached for good.
#[test]
fn a_type_that_owns_buffers_stays_below_the_limit() {
    const KEPT: usize = 8;
    const MOST: usize = LIMIT / BUFFER;
    let heap = heap(LIMITED);
    let m = heap.attach().unwrap();
    let mut kept: [Option<Root<Finalized<Buffer>>>; KEPT] = [const { None }; KEPT];
    let (rounds, mut most) = (20 * MOST, 0);
    for i in 0..rounds {
        scrub();
        assert!(has_room(&heap, &m, true), "in round {i}");
        kept[i % KEPT] = Some(own(&m, i as u8));
        most = most.max(BUFFERS.load(Ordering::Relaxed));
        assert!(most <= MOST, "{most} buffers are more than the limit");
        let of = (i + 1) % KEPT;
        if let Some(root) = &kept[of] {
            let buffer = root.get(&m);
            assert!(
                buffer.0[0] == buffer.0[BUFFER - 1] && usize::from(buffer.0[0]) % KEPT == of,
                "it was dropped"
            );
        }
    }
    assert!(most > MOST / 2, "{most} buffers");
    let refused = (0..=MOST).find(|_| {
        let refused = !has_room(&heap, &m, false);
        if !refused {
            own(&m, 0);
        }
        refused
    });
    assert!(refused.is_some(), "a limit that is none");
    drop(kept);
    drop((m, heap));
    assert_eq!(BUFFERS.load(Ordering::Relaxed), 0);
}
