//! Buffers: memory without pointers, of all sizes, at a fixed address, that the collector never writes.

use crate::common::*;
use heapwood::{AllocError, Buffer, Gc};

const SIZES: [usize; 14] =
    [0, 1, 15, 16, 17, 100, 2047, 2048, 2049, 4000, 32 << 10, (32 << 10) + 1, 131_072, 5_000_000];

fn fill(buffer: Gc<Buffer>, bytes: usize, with: u8) {
    // SAFETY: the buffer has `bytes` bytes, and only this thread uses it.
    unsafe { Gc::as_ptr(buffer).cast::<u8>().write_bytes(with, bytes) };
}

fn holds(buffer: Gc<Buffer>, bytes: usize, what: u8) -> bool {
    // SAFETY: the buffer has `bytes` bytes, which were written.
    unsafe { std::slice::from_raw_parts(Gc::as_ptr(buffer).cast::<u8>(), bytes) }.iter().all(|&b| b == what)
}

#[test]
fn buffers_of_every_size_keep_their_contents() {
    for config in [SMALL, VERIFY] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        // Kept alive by this array on the stack.
        let buffers = SIZES.map(|bytes| m.alloc_buffer(bytes));
        for (k, buffer) in buffers.iter().enumerate() {
            assert_eq!(Gc::as_ptr(*buffer) as usize % 16, 0);
            fill(*buffer, SIZES[k], k as u8 + 1);
        }
        for round in 0..3 {
            m.collect();
            let garbage = SIZES.map(|bytes| m.try_alloc_buffer(bytes).unwrap());
            garbage.iter().zip(SIZES).for_each(|(buffer, bytes)| fill(*buffer, bytes, 0xEE));
            for (k, buffer) in buffers.iter().enumerate() {
                assert!(holds(*buffer, SIZES[k], k as u8 + 1), "{} bytes, round {round}", SIZES[k]);
            }
        }
    }
}

/// A buffer is not scanned and keeps nothing alive.
#[test]
fn addresses_in_a_buffer_keep_nothing_alive() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let buffer = m.alloc_buffer(64);
    let word = Gc::as_ptr(buffer) as usize;
    // A thread of its own leaves no address on this stack.
    let hide = || {
        let m = heap.attach().unwrap();
        let nodes = list(&m, 10_000);
        // SAFETY: the buffer has room for a word, and the thread that holds it waits.
        unsafe { (word as *mut usize).write(nodes.map_or(0, |n| Gc::as_ptr(n) as usize)) };
    };
    m.blocking(|| std::thread::scope(|scope| scope.spawn(hide).join().unwrap()));
    m.collect();
    // The head would keep all nodes. A stale word on a stack that an earlier test has used may keep some.
    assert!(heap.stats().live_objects < 10_000, "{:?}", heap.stats());
    std::hint::black_box(buffer);
}

#[test]
fn impossible_buffers_are_errors() {
    let heap = heap(SMALL.limit(8 << 20));
    let m = heap.attach().unwrap();
    assert!(matches!(m.try_alloc_buffer(9 << 20).err(), Some(AllocError::Limit { .. })));
    assert!(matches!(m.try_alloc_buffer(usize::MAX).err(), Some(AllocError::ReservationFull(_))));
    assert!(m.try_alloc_buffer(1 << 20).is_ok());
}
